/**
 * What still breaks the rules about words and parameters, counted for each area. `ceilings.json` has the counts.
 * No count may rise, and a count that fell far must be lowered there. `TIDY_RECORD=1 npx vitest run test/tidy`
 * writes today's counts.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  commentsOf,
  documentedPercent,
  longCommentLines,
  longSentences,
  silentExports,
} from "./comments.ts";
import { crowdedFunctions } from "./parameters.ts";
import { ROOT, type SourceFile } from "./sources.ts";

const PATH = join(ROOT, "test/tidy/ceilings.json");
/**
 * A count may be this much below its ceiling, or a tenth of the ceiling if that is more. Below that the ceiling
 * must be lowered. The slack lets several people shrink counts in parallel.
 */
const SLACK = 10;

type Counts = Readonly<Record<string, number>>;

interface Ceilings {
  readonly counts: Readonly<Record<string, Counts>>;
  /** Exported type names that are declared in more than one file. */
  readonly sharedTypeNames: readonly string[];
  /** Share of exports with a comment, in whole percent. It only rises. Tests do not count. */
  readonly documentedPercent: number;
}

/** The recorded share must be raised when today's share is higher by this many percentage points. */
const DOCUMENTED_SLACK = 3;

const MEASURES: Readonly<Record<string, (file: SourceFile) => readonly string[]>> = {
  "comment sentences of more than 25 words": (file) => commentsOf(file).flatMap(longSentences),
  "comment lines of more than 120 columns": longCommentLines,
  "functions with more than three positional parameters": crowdedFunctions,
  "exported functions without a comment": silentExports,
};

/** One complaint for each count that rose or fell far, and for each new type name that two files declare. */
export function brokenCeilings(files: readonly SourceFile[]): string[] {
  const today = measured(files);
  if (process.env["TIDY_RECORD"] === "1") {
    writeFileSync(PATH, `${JSON.stringify(today, null, 2)}\n`);
    return [];
  }
  const allowed = JSON.parse(readFileSync(PATH, "utf8")) as Ceilings;
  return [
    ...countFaults(today, allowed),
    ...nameFaults(today, allowed),
    ...shareFaults(today.documentedPercent, allowed.documentedPercent),
  ];
}

function measured(files: readonly SourceFile[]): Ceilings {
  const counts = Object.entries(MEASURES).map(([measure, find]) => {
    const byArea: Record<string, number> = {};
    for (const file of files) {
      const area = areaOf(file.path);
      byArea[area] = (byArea[area] ?? 0) + find(file).length;
    }
    return [measure, sortedNonZero(byArea)] as const;
  });
  const own = files.filter(({ path, isTest }) => !isTest && !path.startsWith("test/"));
  return {
    counts: Object.fromEntries(counts),
    sharedTypeNames: sharedTypeNames(files),
    documentedPercent: Math.floor(documentedPercent(own)),
  };
}

function sortedNonZero(counts: Counts): Counts {
  const kept = Object.entries(counts).filter(([, count]) => count > 0);
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The area of a file: `src/core/planner`, `src/cli`, `bench`. Areas are as large as the parts that people work on.
 */
function areaOf(path: string): string {
  return /^(src\/(?:core|controllers|sandbox|providers)\/[^/]+(?=\/)|src\/[^/]+|[^/]+)/.exec(
    path,
  )?.[1] as string;
}

function countFaults(today: Ceilings, allowed: Ceilings): string[] {
  return Object.entries(today.counts).flatMap(([measure, counts]) => {
    const ceilings = allowed.counts[measure] ?? {};
    const areas = [...new Set([...Object.keys(counts), ...Object.keys(ceilings)])].sort();
    return areas.flatMap((area) => {
      const [count, ceiling] = [counts[area] ?? 0, ceilings[area] ?? 0];
      if (count > ceiling) return [`${area}: ${count} ${measure}, ${ceiling} allowed; mend one`];
      return ceiling - count > Math.max(SLACK, ceiling / 10)
        ? [`${area}: down to ${count} ${measure}; lower ${ceiling} in test/tidy/ceilings.json`]
        : [];
    });
  });
}

function nameFaults(today: Ceilings, allowed: Ceilings): string[] {
  const known = new Set(allowed.sharedTypeNames);
  const still = new Set(today.sharedTypeNames);
  const gone = allowed.sharedTypeNames.filter((name) => !still.has(name));
  return [
    ...today.sharedTypeNames
      .filter((name) => !known.has(name))
      .map((name) => `type ${name} is exported by two files; give one of them another name`),
    ...(gone.length > SLACK
      ? [`declared once now: ${gone.join(", ")}; take them out of test/tidy/ceilings.json`]
      : []),
  ];
}

function shareFaults(today: number, least: number): string[] {
  if (today < least) return [`${today} % of exports have a comment, ${least} % must; write some`];
  return today >= least + DOCUMENTED_SLACK
    ? [`up to ${today} % of exports with a comment; raise ${least} in test/tidy/ceilings.json`]
    : [];
}

function sharedTypeNames(files: readonly SourceFile[]): string[] {
  const seen = new Map<string, number>();
  for (const { text } of files)
    for (const [, name = ""] of text.matchAll(/^export (?:interface|type|class) (\w+)/gm))
      seen.set(name, (seen.get(name) ?? 0) + 1);
  return [...seen]
    .filter(([, times]) => times > 1)
    .map(([name]) => name)
    .sort();
}
