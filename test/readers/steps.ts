/**
 * Counts the steps of reading: how often the engine ran each block of the readers and their parsers. The count is
 * the same on every machine. A text of twice the length may take little more than twice the steps.
 * A process of its own, because V8 does not count code that was optimised before counting began. It sends its
 * counts to the test.
 */
import { Session } from "node:inspector/promises";
import { readJsonTexts } from "../../src/readers/json.ts";
import { LIMITS } from "../../src/readers/limits.ts";
import { readMime } from "../../src/readers/mime.ts";
import { ReadError } from "../../src/readers/read-error.ts";
import { readToml } from "../../src/readers/toml.ts";
import { readYaml } from "../../src/readers/yaml.ts";

export interface Growth {
  readonly name: string;
  /** Steps for a text of 1,000 characters, and for one of 2,000. */
  readonly small: number;
  readonly large: number;
}

const FROM = { source: "hostile", limits: LIMITS.manifests };

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

async function stepsOf(read: () => unknown): Promise<number> {
  // Taking the coverage resets the counters.
  await session.post("Profiler.takePreciseCoverage");
  read();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url }) => /\/(?:js-yaml|smol-toml)\/|\/src\/readers\/[a-z-]+\.ts/.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, { count }) => sum + count, 0);
}

const repeated = (unit: string) => (length: number) => unit.repeat(Math.ceil(length / unit.length));
const numbered = (unit: string) => (length: number) =>
  Array.from({ length: Math.ceil(length / 8) }, (_, at) => unit.replaceAll("#", `${at}`)).join("");

const ALL_SIGNS = [
  "a",
  "- ",
  "? ",
  ": ",
  "\n",
  " ",
  "[",
  "]",
  "{",
  "}",
  ",",
  "'",
  '"',
  "#",
  "&a ",
  "*a ",
  "!t ",
  "|\n",
  "---\n",
  "...\n",
  "\uFEFF",
  "\\",
  "<<: ",
  "\t",
  "1",
  "\n  ",
];
const BEFORE = ["", "- ".repeat(90), "[".repeat(90), "a: >\n", "&a\n  "];

/** Hostile texts by length: among them the worst ones that were ever found. */
const HOSTILE: readonly (readonly [string, (length: number) => string])[] = [
  ["distinct keys", numbered("k#: v\n")],
  ["keys in brackets", (length) => `{${numbered("k#: v,")(length)}}`],
  ["anchors", numbered("- &a# x\n")],
  ["anchors of lists", numbered("- &a# [x]\n")],
  ["merges", (length) => `a: &a {b: 1, c: 2}\n${numbered("d#: {<<: *a}\n")(length)}`],
  ["tag directives", (length) => `${numbered("%TAG !e#! tag:x:\n")(length)}---\na`],
];

/** All readers, one after the other. */
function readAll(text: string): void {
  for (const read of [readYaml, readToml, readJsonTexts, readMime]) {
    try {
      read(text, FROM);
    } catch (error) {
      if (!(error instanceof ReadError)) throw error;
    }
  }
}

/** Steps of several texts together. If one of them grows quadratically, it dominates the sum. */
async function growth(
  name: string,
  texts: readonly ((length: number) => string)[],
  read = readAll,
): Promise<Growth> {
  const stepsFor = (length: number) =>
    stepsOf(() => {
      for (const text of texts) read(text(length));
    });
  return { name, small: await stepsFor(1_000), large: await stepsFor(2_000) };
}

const found: Growth[] = [];
for (const [name, text] of HOSTILE) found.push(await growth(name, [text]));
for (const left of ALL_SIGNS)
  found.push(
    await growth(
      `after ${JSON.stringify(left)}`,
      ALL_SIGNS.map((right) => repeated(left + right)),
    ),
  );
for (const before of BEFORE)
  found.push(
    await growth(
      `after ${JSON.stringify(before.slice(0, 8))}…`,
      ALL_SIGNS.map((sign) => (length: number) => before + repeated(sign)(length)),
    ),
  );
const inALoop = (text: string) => {
  for (let at = 0; at < text.length; at += 10) readAll(text);
};
const squared = await growth("a loop in a loop", [repeated("[]")], inALoop);
process.send?.({ found, squared });
process.disconnect();
