/** Writes numbers and lists of things in sentences for people. */

/** A number with separators, such as `12,000`. */
export function grouped(count: number): string {
  return count.toLocaleString("en");
}

/** A number with its noun, such as `1 pod` or `2,000 pods`. `plural`: the plural, if it is not the noun with an `s`. */
export function counted(count: number, word: string, plural = `${word}s`): string {
  return `${grouped(count)} ${count === 1 ? word : plural}`;
}

/** The first names, and how many others there are: `a, b and 3 more`. `most`: how many are named. */
export function firstNames(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${grouped(names.length - most)} more` : shown;
}
