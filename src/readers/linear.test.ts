import { Session } from "node:inspector/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readJsonTexts } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { readMime } from "./mime.ts";
import { ReadError } from "./read-error.ts";
import { readToml } from "./toml.ts";
import { readYaml } from "./yaml.ts";

/**
 * Steps are how often the engine ran each block of the readers and their parsers, which is the same on every machine.
 * Twice the text may take little more than twice the steps.
 */
const MOST_GROWTH = 2.3;
/** Steps that do not depend on the text. */
const START = 4_000;
const FROM = { source: "hostile", limits: LIMITS.manifests };

const session = new Session();
beforeAll(async () => {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
});
afterAll(async () => {
  await session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
});

async function stepsOf(read: () => unknown): Promise<number> {
  // Which also begins to count anew.
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

/** Each as a function of its length, with the answers to the worst that was ever found. */
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

/** Of a group of texts together: one that grows with the square outweighs the others. */
async function growth(texts: readonly ((length: number) => string)[]): Promise<string | undefined> {
  const stepsFor = (length: number) =>
    stepsOf(() => {
      for (const text of texts) readAll(text(length));
    });
  const [small, large] = [await stepsFor(1_000), await stepsFor(2_000)];
  return large > MOST_GROWTH * small + START ? `${small} → ${large}` : undefined;
}

describe("steps of reading", () => {
  it.each(HOSTILE)("grow with the text and no faster: %s", async (_, text) => {
    expect(await growth([text])).toBeUndefined();
  });

  it.each(ALL_SIGNS)("grow with the text and no faster: pairs that begin with %j", async (left) => {
    expect(await growth(ALL_SIGNS.map((right) => repeated(left + right)))).toBeUndefined();
  });

  it.each(BEFORE)("grow with the text and no faster: after %j", async (before) => {
    const texts = ALL_SIGNS.map((sign) => (length: number) => before + repeated(sign)(length));
    expect(await growth(texts)).toBeUndefined();
  });

  it("are counted: a loop in a loop is found", async () => {
    const squared = (length: number) =>
      stepsOf(() => {
        for (let at = 0; at < length; at++) readJsonTexts("[]".repeat(length), FROM);
      });
    expect(await squared(200)).toBeGreaterThan(3 * (await squared(100)));
  });
});
