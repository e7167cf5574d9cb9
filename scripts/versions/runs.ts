/** What ran where: facts that `record.ts` writes when tests passed, and that the page of versions is made from. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const RUNS_FILE = fileURLToPath(new URL("runs.json", import.meta.url));

/** Tests of test/cluster that passed. */
export interface Run {
  /** Names of files of test/cluster, without `.test.ts`. */
  readonly tests: readonly string[];
  /** Version of kube-apiserver, such as 1.34.4. */
  readonly kubernetes: string;
  /** 20.20.2 */
  readonly node: string;
  /** The version of Karpenter in Go that the tests moved from and back to, if they did. */
  readonly upstream?: string;
  /** YYYY-MM-DD */
  readonly on: string;
}

/** What `runs.json` holds. */
export function recordedRuns(): readonly Run[] {
  return JSON.parse(readFileSync(RUNS_FILE, "utf8")) as readonly Run[];
}

/** With `run` in place of an older one of the same versions. */
export function withRun(runs: readonly Run[], run: Run): readonly Run[] {
  const key = ({ kubernetes, node }: Run) =>
    [kubernetes, node].map((one) => one.split(".").map((n) => n.padStart(4, "0"))).join();
  const others = runs.filter((one) => key(one) !== key(run));
  const same = runs.find((one) => key(one) === key(run));
  // Tests that passed on another day stay; the day is that of the oldest.
  const tests = [...new Set([...(same?.tests ?? []), ...run.tests])].sort();
  const on = same !== undefined && same.on < run.on ? same.on : run.on;
  const upstream = run.upstream ?? same?.upstream;
  const joined: Run = { ...run, tests, on, ...(upstream === undefined ? {} : { upstream }) };
  return [...others, joined].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
