/**
 * How the site's search reads words and ranks sections. The site and `scripts/site/search.ts` use the same. VitePress
 * sends these functions to the browser as text, so each stands by itself.
 */

/** A word as the index knows it: without its ending; nothing for words that every question has. */
export function searchWord(word: string): string | null {
  const common =
    /^(a|an|and|are|as|at|be|being|by|can|do|does|for|from|get|how|i|if|in|is|it|my|of|on|or|that|the|this|to|was|what|when|where|which|why|with|you|your)$/;
  const lower = word.toLowerCase();
  if (common.test(lower)) return null;
  return lower.length > 5 ? lower.replace(/(ions?|ing|ed|es|s)$/, "") : lower.replace(/s$/, "");
}

/** A reader with a question wants a page that answers it; long tables have every word, and come later. */
export function searchWeight(place: string): number {
  if (/\/designs\/|\/reference\/(chart|events|metrics|parity|settings)\.html/.test(place)) return 0.3;
  return /\/reference\/|\/explanation\/|\/glossary|\/cost\.html/.test(place) ? 0.6 : 1;
}

export const SEARCH = {
  options: { processTerm: searchWord },
  searchOptions: {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 4, text: 2, titles: 1 },
    boostDocument: searchWeight,
  },
};
