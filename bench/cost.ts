/**
 * `npm run bench -- cost [--openb CSV] [--effort N] [--ours] [--quick] [name …]`: what a plan costs by
 * upstream, by our planner with its default settings, with more effort, and what none can undercut
 * (bound.ts). Each of our plans goes through the validator's eye for price and fit. The table is kept
 * in docs/cost.md.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { planOf } from "../src/cli/plan/plan.ts";
import { planBatch } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER, type PlannerOptions } from "../src/core/planner/planner-options.ts";
import { validate } from "../test/validator/validate.ts";
import { lowerBound } from "./bound.ts";
import { costWorkloads } from "./cost-workloads.ts";
import { cells, dollars, percent } from "./table.ts";
import { inputOf, type Workload } from "./workload.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

export async function cost(args: readonly string[]): Promise<void> {
  const after = (flag: string) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
  const effort = Number(after("--effort") ?? 20);
  const names = args.filter((arg, at) => !arg.startsWith("--") && !["--openb", "--effort"].includes(args[at - 1] ?? ""));
  const folder = mkdtempSync(join(tmpdir(), "karpenter-cost-"));
  const thorough = {
    ...DEFAULT_PLANNER,
    baseWork: DEFAULT_PLANNER.baseWork * effort,
    workPerPod: DEFAULT_PLANNER.workPerPod * effort,
  };
  try {
    const upstream = args.includes("--ours") ? undefined : build(folder);
    print(["workload", "bound $/h", "upstream", "ours", `ours, effort ${effort}`, "nodes: upstream, ours"]);
    print(["---", "---", "---", "---", "---", "---"]);
    for (const workload of await costWorkloads(after("--openb"))) {
      if (names.length > 0 && !names.some((name) => workload.name.startsWith(name))) continue;
      const bound = await lowerBound(workload, args.includes("--quick"));
      const ours = plan(workload, DEFAULT_PLANNER);
      const longer = plan(workload, thorough);
      const theirs = upstream === undefined ? undefined : runUpstream(upstream, folder, workload);
      const over = (price: number) => `${dollars(price)} (${percent(price / bound - 1)})`;
      const nodes = [theirs?.nodes, ours.nodes].filter((count) => count !== undefined);
      print([workload.name, dollars(bound), theirs === undefined ? "-" : over(theirs.price), over(ours.price), over(longer.price), nodes.join(", ")]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
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

function build(folder: string): string | undefined {
  const program = join(folder, "upstream");
  const { status, stderr } = spawnSync("go", ["build", "-o", program, "."], { cwd: join(HERE, "upstream"), encoding: "utf8" });
  if (status === 0) return program;
  process.stdout.write(`upstream's scheduler could not be built and is left out: ${stderr ?? "Go is not installed"}\n`);
  return undefined;
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
