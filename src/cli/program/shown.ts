/** What complaints show of a value: enough to find it, not a screen full of it. */

/** Characters of a value. */
const MOST_OF_VALUE = 60;
/** Characters of a sentence that quotes values; it ends with what is wanted. */
const MOST_OF_SENTENCE = 600;
const END_OF_SENTENCE = 200;

/** As JSON, cut where it gets long. */
export function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= MOST_OF_VALUE ? text : `${text.slice(0, MOST_OF_VALUE)}…`;
}

/** A sentence of others, without the middle where it is long. */
export function shownSentence(text: string): string {
  if (text.length <= MOST_OF_SENTENCE) return text;
  return `${text.slice(0, MOST_OF_SENTENCE - END_OF_SENTENCE)} … ${text.slice(-END_OF_SENTENCE)}`;
}
