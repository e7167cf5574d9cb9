/** Which tests passed on which versions: `record.ts` writes these facts, and the page of versions shows them. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const RUNS_FILE = fileURLToPath(new URL("runs.json", import.meta.url));

/** A successful run of tests. */
export interface Run {
  /** Names of files of test/cluster, without `.test.ts`. */
  readonly tests: readonly string[];
  /** Version of kube-apiserver, such as 1.34.4. */
  readonly kubernetes: string;
  /** Version of Node, such as 20.20.2. */
  readonly node: string;
  /** The version of Karpenter in Go that the tests moved from and back to, if they did. */
  readonly upstream?: string;
  /** The date: YYYY-MM-DD. */
  readonly on: string;
}

/** The content of `runs.json`. */
export function recordedRuns(): readonly Run[] {
  return JSON.parse(readFileSync(RUNS_FILE, "utf8")) as readonly Run[];
}

/** The runs with this one added. It replaces an older run of the same versions. */
export function withRun(runs: readonly Run[], run: Run): readonly Run[] {
  const key = ({ kubernetes, node }: Run) =>
    [kubernetes, node].map((one) => one.split(".").map((n) => n.padStart(4, "0"))).join();
  const others = runs.filter((one) => key(one) !== key(run));
  const same = runs.find((one) => key(one) === key(run));
  // Tests that passed in the older run stay in the list, and the date is the older one.
  const tests = [...new Set([...(same?.tests ?? []), ...run.tests])].sort();
  const on = same !== undefined && same.on < run.on ? same.on : run.on;
  const upstream = run.upstream ?? same?.upstream;
  const joined: Run = { ...run, tests, on, ...(upstream === undefined ? {} : { upstream }) };
  return [...others, joined].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
