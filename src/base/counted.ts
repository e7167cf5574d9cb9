/** Numbers of things in sentences. */

/** `1 pod`, `2,000 pods`. `plural`: the plural, if it is not the noun with an `s`. */
export function counted(count: number, word: string, plural = `${word}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? word : plural}`;
}
