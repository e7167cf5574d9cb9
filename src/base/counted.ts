/** Numbers of things in sentences, for people. */

/** A number with separators: `12,000`. */
export function grouped(count: number): string {
  return count.toLocaleString("en");
}

/** `1 pod`, `2,000 pods`. `plural`: the plural, if it is not the noun with an `s`. */
export function counted(count: number, word: string, plural = `${word}s`): string {
  return `${grouped(count)} ${count === 1 ? word : plural}`;
}
