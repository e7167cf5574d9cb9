/**
 * How much each part of the planner contributes. Each workload is planned with all parts, and without each part in
 * turn, in one process. The tables show price and time of a plan without the part. Small random clusters of the fuzz
 * tests follow. bench/heuristics.md keeps the tables.
 */

import { HEURISTICS, type Heuristic } from "../src/core/planner/heuristics.ts";
import { planBatch } from "../src/core/planner/plan-batch.ts";
import { DEFAULT_PLANNER, type PlannerOptions } from "../src/core/planner/planner-options.ts";
import type { SchedulingResult } from "../src/core/provisioning/result.ts";
import type { SchedulingInput } from "../src/core/provisioning/scheduling-input.ts";
import { drawScenario } from "../test/fuzz/draw.ts";
import { withCopies } from "../test/fuzz/draw-copies.ts";
import { inputOf as inputOfScenario } from "../test/fuzz/ours.ts";
import { costWorkloads } from "./cost-workloads.ts";
import { PATHOLOGICAL } from "./pathological.ts";
import { cells, percent } from "./table.ts";
import { threadMs } from "./thread-ms.ts";
import { inputOf, type Workload } from "./workload.ts";

const FLAGS = new Set(["--runs", "--scenarios", "--only"]);
const FIRST_SEED = 100_000;
/**
 * Options for small clusters: they are packed too, and a node costs little beyond its instance. Otherwise most
 * scenarios would not reach the packing.
 */
const EAGER: PlannerOptions = { ...DEFAULT_PLANNER, minPods: 1, nodeMicroUsdPerHour: 1_000 };
/** Every fifth scenario has each of its pods twelve times. */
const ENLARGED_EVERY = 5;

/** Runs `npm run bench -- heuristics [--runs N] [--scenarios N] [--only HEURISTIC,…] [workload …]`. */
export async function heuristics(args: readonly string[]): Promise<void> {
  const { runs, scenarios, only, names } = read(args);
  const workloads = await workloadsNamed(names);
  const costs = new Map(only.map((one): [Heuristic, OnWorkload[]] => [one, []]));
  for (const workload of workloads) compareOn(workload, runs, costs);
  const drawn = Array.from({ length: scenarios }, (_, at) => FIRST_SEED + at);
  const rows = new Map(
    only.map((one) => [one, { changed: 0, dearer: 0, cheaper: 0, pending: 0, price: 0 }]),
  );
  let price = 0;
  for (const seed of drawn) {
    const input = scenarioOf(seed);
    const options = seed % 2 === 0 ? EAGER : DEFAULT_PLANNER;
    const whole = measured(input, options);
    price += whole.price;
    for (const [heuristic, row] of rows) {
      const other = measured(input, { ...options, without: new Set([heuristic]) });
      row.price += other.price;
      row.pending += other.pending - whole.pending;
      if (other.price !== whole.price || other.pending !== whole.pending) row.changed++;
      if (other.pending === whole.pending && other.price > whole.price) row.dearer++;
      if (other.pending === whole.pending && other.price < whole.price) row.cheaper++;
    }
  }
  if (workloads.length > 0) {
    print(["without", "price, mean", "price, most", "time, median"]);
    print(new Array<string>(4).fill("---"));
    for (const [heuristic, found] of costs) print([heuristic, ...summary(found)]);
  }
  if (scenarios === 0) return;
  print(["without", "plans changed", "dearer", "cheaper", "price of all", "pods without a place"]);
  print(new Array<string>(6).fill("---"));
  for (const [heuristic, row] of rows) {
    const counts = [row.changed, row.dearer, row.cheaper].map(String);
    print([heuristic, ...counts, percent(row.price / price - 1), String(row.pending)]);
  }
}

/**
 * Numbers relative to the whole planner: the mean price, the price of the workload that gets most expensive, and the
 * median time.
 */
function summary(found: readonly OnWorkload[]): readonly string[] {
  const [most] = found.toSorted((a, b) => b.price - a.price);
  const dearest =
    most === undefined || most.price <= 1 ? "" : `${percent(most.price - 1)} (${most.name})`;
  return [
    percent(mean(found.map((one) => one.price)) - 1),
    dearest,
    `${median(found.map(({ time }) => time)).toFixed(2)}x`,
  ];
}

interface OnWorkload {
  readonly name: string;
  /** Price of the plan without the part, divided by the whole planner's. */
  readonly price: number;
  readonly time: number;
}

function read(args: readonly string[]) {
  const strange = args.find((arg) => arg.startsWith("--") && !FLAGS.has(arg));
  if (strange !== undefined)
    throw new Error(`${strange}: not known; there are ${[...FLAGS].join(", ")}`);
  const after = (flag: string) => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
  const names = args.filter((arg, at) => !arg.startsWith("--") && !FLAGS.has(args[at - 1] ?? ""));
  const wanted = after("--only")?.split(",");
  const only = HEURISTICS.filter((one) => wanted?.includes(one) ?? true);
  if (wanted !== undefined && only.length !== wanted.length)
    throw new Error(`--only ${wanted.join()}: heuristics are ${HEURISTICS.join(", ")}`);
  return {
    runs: Number(after("--runs") ?? 3),
    scenarios: Number(after("--scenarios") ?? 1_000),
    only,
    names,
  };
}

async function workloadsNamed(names: readonly string[]): Promise<readonly Workload[]> {
  const hard = await Promise.all(Object.values(PATHOLOGICAL).map((make) => make()));
  const all = [...(await costWorkloads()).map(({ workload }) => workload), ...hard];
  return names.length === 0
    ? all
    : all.filter(({ name }) => names.some((one) => name.startsWith(one)));
}

/** Plans one workload `runs` times with all parts and without each one. Times are compared only within the same run. */
function compareOn(
  workload: Workload,
  runs: number,
  into: ReadonlyMap<Heuristic, OnWorkload[]>,
): void {
  measured(inputOf(workload), DEFAULT_PLANNER);
  const times = new Map([...into.keys()].map((one): [Heuristic, number[]] => [one, []]));
  const prices = new Map<Heuristic, number>();
  for (let run = 0; run < runs; run++) {
    const whole = measured(inputOf(workload), DEFAULT_PLANNER);
    for (const [heuristic, own] of times) {
      const other = measured(inputOf(workload), {
        ...DEFAULT_PLANNER,
        without: new Set([heuristic]),
      });
      own.push(other.ms / whole.ms);
      prices.set(heuristic, whole.price === 0 ? 1 : other.price / whole.price);
    }
  }
  for (const [heuristic, own] of times)
    into
      .get(heuristic)
      ?.push({ name: workload.name, price: prices.get(heuristic) ?? 1, time: median(own) });
  process.stderr.write(
    `${workload.name}: ${[...prices].map(([one, price], at) => `${one} ${price.toFixed(4)} ${median([...times.values()][at] ?? []).toFixed(2)}`).join(", ")}\n`,
  );
}

interface Measured {
  readonly price: number;
  readonly pending: number;
  readonly ms: number;
}

function measured(input: SchedulingInput, options: PlannerOptions): Measured {
  const begun = threadMs();
  const plan: SchedulingResult = planBatch(input, options);
  const ms = threadMs() - begun;
  const price = plan.newClaims.reduce((sum, { cheapest }) => sum + cheapest.priceMicroUsd, 0);
  return { price, pending: plan.unschedulable.length, ms };
}

/** The random cluster of a seed. */
function scenarioOf(seed: number): SchedulingInput {
  const scenario = drawScenario(seed);
  return inputOfScenario(seed % ENLARGED_EVERY === 0 ? withCopies(scenario) : scenario);
}

function mean(numbers: readonly number[]): number {
  return numbers.length === 0 ? 1 : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 1;
}

function print(texts: readonly string[]): void {
  process.stdout.write(`${cells(texts)}\n`);
}
