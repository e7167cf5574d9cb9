/**
 * `npm run bench -- cost [--effort N] [--ours] [--quick] [name …]`: price of a plan by upstream, by our planner, and
 * the lower bound (bound.ts). `--effort N` adds our planner with N times its budget of steps.
 * Each row has a limit for our price. The exit code is 1 if one is exceeded, but not with `--quick`, whose bound is
 * loose. The validator checks price and fit of each of our plans. OPENB_CSV names the file of a public trace
 * (workloads.ts). docs/cost.md keeps the table.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planOf } from "../src/cli/plan/plan.ts";
import { planBatch } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER, type PlannerOptions } from "../src/core/planner/planner-options.ts";
import { validate } from "../test/validator/validate.ts";
import { lowerBound } from "./bound.ts";
import { costWorkloads } from "./cost-workloads.ts";
import { cells, dollars, percent } from "./table.ts";
import { buildUpstream } from "./upstream-program.ts";
import { inputOf, type Workload } from "./workload.ts";

const FLAGS = new Set(["--effort", "--ours", "--quick"]);

export async function cost(args: readonly string[]): Promise<void> {
  const strange = args.find((arg) => arg.startsWith("--") && !FLAGS.has(arg));
  if (strange !== undefined) throw new Error(`${strange}: not known; there are ${[...FLAGS].join(", ")}`);
  const after = (flag: string) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
  const effort = args.includes("--effort") ? effortOf(after("--effort")) : undefined;
  const names = args.filter((arg, at) => !arg.startsWith("--") && args[at - 1] !== "--effort");
  const isQuick = args.includes("--quick");
  const folder = mkdtempSync(join(tmpdir(), "karpenter-cost-"));
  try {
    const upstream = args.includes("--ours") ? undefined : buildUpstream(folder);
    const heads = ["workload", "bound $/h", "upstream", "ours", ...(effort === undefined ? [] : [`ours, effort ${effort}`])];
    print([...heads, "wanted", "nodes: upstream, ours"]);
    print([...heads, "", ""].map(() => "---"));
    for (const { workload, mostOver } of await costWorkloads()) {
      if (names.length > 0 && !names.some((name) => workload.name.startsWith(name))) continue;
      tell(`${workload.name}: ours`);
      const ours = plan(workload, DEFAULT_PLANNER);
      const longer = effort === undefined ? [] : [plan(workload, timesWork(effort))];
      tell(`${workload.name}: upstream`);
      const theirs = upstream === undefined ? undefined : runUpstream(upstream, folder, workload);
      tell(`${workload.name}: bound`);
      const bound = await lowerBound(workload, isQuick);
      tell("");
      const over = ({ price }: Priced) => `${dollars(price)} (${percent(price / bound - 1)})`;
      const nodes = [theirs?.nodes, ours.nodes].filter((count) => count !== undefined);
      const prices = [theirs === undefined ? "-" : over(theirs), over(ours), ...longer.map(over)];
      print([workload.name, dollars(bound), ...prices, `≤ ${percent(mostOver)}`, nodes.join(", ")]);
      if (!isQuick && ours.price > bound * (1 + mostOver)) process.exitCode = 1;
    }
    if (process.env["OPENB_CSV"] === undefined) process.stdout.write("T-openb is left out: OPENB_CSV does not name its file\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function effortOf(text: string | undefined): number {
  const effort = Number(text);
  if (!(effort > 0)) throw new Error(`--effort ${text ?? ""}: a number above 0 is wanted, as in --effort 20`);
  return effort;
}

function timesWork(effort: number): PlannerOptions {
  const { baseWork, workPerPod } = DEFAULT_PLANNER;
  return { ...DEFAULT_PLANNER, baseWork: baseWork * effort, workPerPod: workPerPod * effort };
}

/** On a terminal, prints what is being computed: a bound takes minutes. */
function tell(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

interface Priced {
  readonly price: number;
  readonly nodes: number;
}

function plan(workload: Workload, options: PlannerOptions): Priced {
  const input = inputOf(workload);
  const found = planOf(planBatch(input, options), input.pods.length, { parseMs: 0, solveMs: 0 });
  const faults = validate(
    { manifests: [...workload.nodePools, ...input.pods] as never, instanceTypes: workload.instanceTypes as never },
    found,
  );
  if (faults.length > 0) throw new Error(`${workload.name}: the validator finds: ${faults.slice(0, 3).join("; ")}`);
  if (found.unschedulable.length > 0) throw new Error(`${workload.name}: ${found.unschedulable.length} pods have no place`);
  return { price: found.totals.priceMicroUsdPerHour, nodes: found.totals.nodes };
}

function runUpstream(program: string, folder: string, workload: Workload): Priced {
  const file = join(folder, "workload.json");
  writeFileSync(file, JSON.stringify(workload));
  const { status, stdout, stderr } = spawnSync(program, [file], { encoding: "utf8" });
  if (status !== 0) throw new Error(`upstream fails on ${workload.name}: ${stderr}`);
  const { priceMicroUsdPerHour, nodes } = JSON.parse(stdout) as { priceMicroUsdPerHour: number; nodes: number };
  return { price: priceMicroUsdPerHour, nodes };
}

function print(texts: readonly string[]): void {
  process.stdout.write(`${cells(texts)}\n`);
}
