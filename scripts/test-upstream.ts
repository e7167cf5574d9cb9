/**
 * `npm run test:upstream [-- --suite NAME …]`: upstream's end-to-end suites, unchanged, against our operator
 * (test/upstream/README.md). Exits with 1 if a spec fails that test/upstream/known-failures.ts does not list. Without
 * Go or its modules it says so in one line and exits with 0.
 *
 *   --suite NAME        regression (default), disruption, dra or performance
 *   --target NAME       cluster (a real control plane with kwok; default) or sandbox
 *   --focus REGEX       only specs whose name matches
 *   --skip REGEX        without specs whose name matches
 *   --operator NAME     ours (default) or upstream
 *   --report FILE       keeps ginkgo's report there
 *   --judge FILE        runs nothing, and judges a report that an earlier run kept
 *   --beside FILE       shows the results of a report beside these
 *   --record            writes the results into test/upstream/results.json
 *   --commit SHA        the commit that is recorded; default the one checked out
 *   --only-build        builds what a run needs
 */
import { execFileSync, spawn } from "node:child_process";
import {
  createWriteStream,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { openBed, type Target, type Who } from "../test/upstream/bed.ts";
import {
  SUITES,
  type Suite,
  suiteBinary,
  upstreamOperator,
  whyNotBuildable,
} from "../test/upstream/builds.ts";
import { KNOWN_FAILURES } from "../test/upstream/known-failures.ts";
import { type Outcome, outcomesOf, verdictOf } from "../test/upstream/report.ts";
import { RESULTS_FILE, recordedResults, withOutcomes } from "../test/upstream/results.ts";
import { scriptFlags } from "./script-flags.ts";

const { values } = scriptFlags(import.meta.url, {
  options: {
    judge: { type: "string" },
    record: { type: "boolean", default: false },
    commit: { type: "string" },
    suite: { type: "string", default: "regression" },
    target: { type: "string", default: "cluster" },
    operator: { type: "string", default: "ours" },
    focus: { type: "string" },
    skip: { type: "string" },
    beside: { type: "string" },
    report: { type: "string" },
    "only-build": { type: "boolean", default: false },
  },
});
const SUITE_LIMIT = "4h";

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const code = await main();
// Exits at once: timers of the sandbox would keep the process alive for hours.
process.stdout.write("", () => process.exit(code));

async function main(): Promise<number> {
  const suite = choice("suite", values.suite, SUITES);
  const target = choice<Target>("target", values.target, ["cluster", "sandbox"]);
  const who = choice<Who>("operator", values.operator, ["ours", "upstream"]);
  if (suite === undefined || target === undefined || who === undefined) return 2;
  if (values.judge !== undefined) return judge(suite, target, values.judge);
  const missing = whyNotBuildable();
  if (missing !== undefined) {
    say(`upstream's suites are skipped: ${missing}`);
    return 0;
  }
  const binary = await suiteBinary(suite, say);
  const operator = who === "upstream" ? { operator: await upstreamOperator(say) } : {};
  if (values["only-build"]) return 0;
  const bed = await openBed({
    target,
    who,
    withDevices: suite === "dra",
    // This suite reads the operator's metrics at port 8080 of its pod.
    metricsPort: suite === "performance" ? 8080 : 0,
    tell: say,
    ...operator,
  });
  const report = resolve(values.report ?? join(bed.directory, "report.json"));
  rmSync(report, { force: true });
  say(`logs: ${bed.directory}`);
  try {
    await runSuite({
      binary,
      kubeconfig: bed.kubeconfig,
      report,
      log: join(bed.directory, "suite.log"),
    });
  } finally {
    await bed.close();
  }
  if (!existsSync(report)) {
    say(`the suite wrote no report: ${join(bed.directory, "suite.log")} says why`);
    return 1;
  }
  return judge(suite, target, report);
}

function judge(suite: Suite, target: Target, report: string): number {
  const beside = values.beside === undefined ? [] : outcomesOf(readReport(values.beside));
  const known = KNOWN_FAILURES.filter(
    (one) => one.suite === suite && (one.target ?? target) === target,
  );
  const outcomes = outcomesOf(readReport(report));
  if (values.record) record({ suite, target, report }, outcomes);
  const { lines, unlisted, mended } = verdictOf(outcomes, known, beside);
  for (const line of lines) say(line);
  for (const name of mended) say(`passes, so take it out of known-failures.ts: ${name}`);
  for (const name of unlisted) say(`fails and is not listed: ${name}`);
  return unlisted.length === 0 ? 0 : 1;
}

/** The results of our operator count. What a run with upstream's operator shows is not recorded. */
function record(
  { suite, target, report }: { suite: Suite; target: Target; report: string },
  outcomes: readonly Outcome[],
): void {
  if (values.operator !== "ours") return;
  const commit = values.commit ?? checkedOut();
  const on = statSync(report).mtime.toISOString().slice(0, 10);
  const all = withOutcomes(recordedResults(), { suite, target, on, commit }, outcomes);
  writeFileSync(RESULTS_FILE, `${JSON.stringify(all, null, 2)}\n`);
}

function checkedOut(): string {
  return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
}

function readReport(file: string): Parameters<typeof outcomesOf>[0] {
  return JSON.parse(readFileSync(file, "utf8"));
}

interface SuiteRun {
  readonly binary: string;
  readonly kubeconfig: string;
  /** Files that the suite writes. */
  readonly report: string;
  readonly log: string;
}

/** Resolves when the suite has ended. Forwards interrupts, so that ginkgo still reports. */
function runSuite({ binary, kubeconfig, report, log }: SuiteRun): Promise<void> {
  const args = [
    "-test.timeout=0",
    `-ginkgo.timeout=${SUITE_LIMIT}`,
    "-ginkgo.v",
    "-ginkgo.no-color",
    "-ginkgo.seed=1",
    `-ginkgo.json-report=${report}`,
    ...(values.focus === undefined ? [] : [`-ginkgo.focus=${values.focus}`]),
    ...(values.skip === undefined ? [] : [`-ginkgo.skip=${values.skip}`]),
  ];
  return new Promise((done, reject) => {
    const out = createWriteStream(log);
    const child = spawn(binary, args, {
      env: { ...process.env, KUBECONFIG: kubeconfig },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.pipe(out, { end: false });
    child.stderr.pipe(out, { end: false });
    const pass = (): void => {
      child.kill("SIGINT");
    };
    for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, pass);
    child.once("error", reject);
    child.once("exit", () => {
      out.end();
      done();
    });
  });
}

function choice<T extends string>(name: string, value: string, of: readonly T[]): T | undefined {
  const found = of.find((one) => one === value);
  if (found === undefined)
    process.stderr.write(`--${name} ${value}: it is one of ${of.join(", ")}\n`);
  return found;
}
