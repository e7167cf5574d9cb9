/**
 * Versions of Node.js after their end of life. The program runs on them, with a note at the start that they get no
 * fixes. https://github.com/nodejs/release#end-of-life-releases
 */

/** Major versions that the program supports after their end of life, with their last day of fixes. */
const END_OF_LIFE: Readonly<Record<number, string>> = { 20: "2026-04-30" };

/** The note for a version such as 20.19.0. Undefined if it is maintained. */
export function nodeVersionNote(version: string): string | undefined {
  const major = Number.parseInt(version, 10);
  const ended = END_OF_LIFE[major];
  if (ended === undefined) return undefined;
  return `Node.js ${major} gets no security fixes since ${ended}: run this with Node.js 24 or 26`;
}
