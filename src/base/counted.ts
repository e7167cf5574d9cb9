/** Numbers of things in sentences. */

/** `1 pod`, `2,000 pods`; `plural`: the word for several, where an `s` does not make it. */
export function counted(count: number, word: string, plural = `${word}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? word : plural}`;
}
