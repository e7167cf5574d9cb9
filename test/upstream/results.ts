/**
 * The last result of each spec of upstream's suites, by target. `npm run test:upstream -- --record` writes them into
 * results.json, and docs/reference/upstream-suites.md shows them.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Target } from "./bed.ts";
import type { Suite } from "./builds.ts";
import type { Outcome } from "./report.ts";

export const RESULTS_FILE = fileURLToPath(new URL("results.json", import.meta.url));

/** Results of one run, except those that a later run replaced. */
export interface RecordedRun {
  readonly suite: Suite;
  readonly target: Target;
  /** The date: YYYY-MM-DD. */
  readonly on: string;
  /** The commit of this project. Absent: not known. */
  readonly commit?: string;
  /** Names of specs, sorted. */
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Specs that the suite itself skipped, because the cluster lacks what they need. */
  readonly skipped: readonly string[];
}

export interface SuiteResults {
  /** Names of all specs of a suite, sorted. */
  readonly specs: Readonly<Partial<Record<Suite, readonly string[]>>>;
  /** The oldest run first. */
  readonly runs: readonly RecordedRun[];
}

const STATES = ["passed", "failed", "skipped"] as const;

/** The content of results.json. */
export function recordedResults(): SuiteResults {
  return JSON.parse(readFileSync(RESULTS_FILE, "utf8")) as SuiteResults;
}

type About = Pick<RecordedRun, "suite" | "target" | "on" | "commit">;

/** The results with those of a run added. They replace older results of the same specs on the same target. */
export function withOutcomes(
  { specs, runs }: SuiteResults,
  about: About,
  outcomes: readonly Outcome[],
): SuiteResults {
  const named = (state: Outcome["state"]) =>
    outcomes.flatMap((one) => (one.state === state ? [one.name] : []));
  const fresh = { passed: named("passed"), failed: named("failed"), skipped: named("skipped") };
  const names = new Set(STATES.flatMap((state) => fresh[state]));
  const kept = runs.map((run) => (isSameBed(run, about) ? without(run, names) : run));
  const isThisRun = (run: RecordedRun) =>
    isSameBed(run, about) && run.on === about.on && run.commit === about.commit;
  const same = kept.find(isThisRun);
  const both = (state: (typeof STATES)[number]) =>
    [...(same?.[state] ?? []), ...fresh[state]].sort();
  const joined: RecordedRun = {
    ...about,
    passed: both("passed"),
    failed: both("failed"),
    skipped: both("skipped"),
  };
  return {
    specs: { ...specs, [about.suite]: outcomes.map(({ name }) => name).sort() },
    runs: [...kept.filter((run) => run !== same), joined].filter((run) =>
      STATES.some((state) => run[state].length > 0),
    ),
  };
}

function isSameBed(a: About, b: About): boolean {
  return a.suite === b.suite && a.target === b.target;
}

function without(run: RecordedRun, names: ReadonlySet<string>): RecordedRun {
  const rest = (state: (typeof STATES)[number]) => run[state].filter((name) => !names.has(name));
  return { ...run, passed: rest("passed"), failed: rest("failed"), skipped: rest("skipped") };
}

/** The last result of a spec. Undefined: it was not run there. */
export function resultOf(
  { runs }: SuiteResults,
  { suite, target, spec }: Pick<RecordedRun, "suite" | "target"> & { readonly spec: string },
): (Pick<RecordedRun, "on" | "commit"> & { readonly state: (typeof STATES)[number] }) | undefined {
  for (const run of runs) {
    if (run.suite !== suite || run.target !== target) continue;
    const state = STATES.find((one) => run[one].includes(spec));
    if (state !== undefined) return { ...run, state };
  }
  return undefined;
}
