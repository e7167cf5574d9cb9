/** The walks of ARCHITECTURE.md stay true: their files exist, and each is reached from an earlier one as the page says. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./sources.ts";

const MOST_FILES = 15;
const ROW = /^\| \d+ \| .* \| `([^`]+)` \| (?:start|`(\w+)`) \|$/;

interface Stop {
  readonly file: string;
  /** A name that occurs in this file and in an earlier one. Undefined: the walk starts here. */
  readonly through: string | undefined;
}

const page = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
const sections = page.split(/^### /m).slice(1);
const walks = sections.map((section) => ({
  title: section.split("\n", 1)[0] as string,
  rows: section.split("\n").filter((line) => /^\| \d+ \|/.test(line)),
}));

describe("the walks of ARCHITECTURE.md", () => {
  it("are those of a pod, a disruption command and an interruption", () => {
    expect(walks.map(({ title }) => title)).toEqual([
      "The walk of one pod",
      "The walk of one disruption command",
      "The walk of one interruption",
    ]);
  });

  it.each(walks)(
    "$title: names at most 15 files, none twice, each reached from an earlier one",
    ({ rows }) => {
      const stops = rows.map(stopOf);
      const files = stops.map(({ file }) => file);
      expect(files.length).toBeGreaterThan(9);
      expect(files.length).toBeLessThanOrEqual(MOST_FILES);
      expect(new Set(files).size).toBe(files.length);
      expect(stops.filter(({ through }) => through === undefined)).toEqual([stops[0]]);
      expect(stops.flatMap((stop, at) => wrongWith(stop, files.slice(0, at)))).toEqual([]);
    },
  );
});

function stopOf(row: string): Stop {
  const found = ROW.exec(row);
  if (found === null) throw new Error(`not a row of a walk: ${row}`);
  return { file: found[1] as string, through: found[2] };
}

function wrongWith({ file, through }: Stop, before: readonly string[]): string[] {
  if (!existsSync(join(ROOT, file))) return [`${file} does not exist`];
  if (through === undefined) return [];
  if (!names(file, through)) return [`${file} does not name ${through}`];
  return before.some((one) => names(one, through))
    ? []
    : [`no file before ${file} names ${through}`];
}

function names(file: string, word: string): boolean {
  const code = readFileSync(join(ROOT, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  return new RegExp(`\\b${word}\\b`).test(code);
}
