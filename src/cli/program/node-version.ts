/**
 * Which versions of Node.js are past their end of life: the program runs on them, and says once at its start that
 * nobody mends faults in them. https://github.com/nodejs/release#end-of-life-releases
 */

/** Major versions that we run on, by the day after which they get no fixes. */
const END_OF_LIFE: Readonly<Record<number, string>> = { 20: "2026-04-30" };

/** A sentence to say at the start; undefined for a version that is maintained. `version`: 20.19.0. */
export function nodeVersionNote(version: string): string | undefined {
  const major = Number.parseInt(version, 10);
  const ended = END_OF_LIFE[major];
  if (ended === undefined) return undefined;
  return `Node.js ${major} gets no security fixes since ${ended}: run this with Node.js 24 or 26`;
}
