/**
 * A proven lower bound of the price of any plan for a workload, with HiGHS, a solver of linear programs. Each pod gets
 * a price. If on no machine the prices of its pods can exceed the machine's price, no plan costs less than the sum of
 * the pods' prices. The planner's search for packings improves the pods' prices in rounds. HiGHS then proves how large
 * the sum on each machine can be, which is a knapsack problem. For few pods, such as those of a small NodePool of their
 * own, all ways to divide them are tried (whole-machines.ts). Machines and pods are read by the validator's code, not
 * by the engine's. Of affinity only required host anti-affinity counts. Zones and labels are ignored, which can only
 * lower the bound.
 */
import { createRequire } from "node:module";
import { atOnce } from "../src/base/steps.ts";
import { BranchAndBound } from "../src/core/planner/packing/branch-and-bound.ts";
import { bestMix } from "../src/core/planner/packing/columns.ts";
import { packByGreed } from "../src/core/planner/packing/greedy-patterns.ts";
import {
  type Bin,
  mostInBin,
  type Packing,
  type Pattern,
  type Row,
} from "../src/core/planner/packing/packing.ts";
import { resourcePrices } from "../src/core/planner/packing/resource-prices.ts";
import { fillingOrders } from "../src/core/planner/packing/row-orders.ts";
import { podAmounts } from "../test/validator/kubernetes.ts";
import { outcomesOf } from "../test/validator/places.ts";
import { wholeMachines } from "./whole-machines.ts";
import type { Workload } from "./workload.ts";

interface Solution {
  readonly Status: string;
  readonly ObjectiveValue: number;
  readonly Columns: Readonly<Record<string, { readonly Primal: number }>>;
  readonly Rows: readonly { readonly Name: string; readonly Dual: number }[];
}

type Highs = { solve(model: string, options?: Record<string, unknown>): Solution };

/** Largest number of rounds that improve the prices. */
const ROUNDS = 400;
/** The rounds end if the bound is this close to the price of the best mix of patterns, as a share of that price. */
const CLOSE_ENOUGH = 0.001;
/** No round begins after this time. The bound is then valid, but lower. */
const ROUNDS_MS = 900_000;
/**
 * Number of machine types that one round fills. More are filled while their ratio could exceed the highest one found.
 */
const FILLED_PER_ROUND = 10;
/**
 * Largest number of steps in the search for one machine. A search that is cut short still gives an upper limit of the
 * sum of its pods' prices.
 */
const SEARCH_STEPS = 300_000;
/** Relative gap at which HiGHS stops, and its time limit. A larger gap gives a lower bound. */
const PROOF_GAP = 1e-3;
const PROOF_SECONDS = 60;
/**
 * Steps of the planner's search for good prices of pods. The search need not be exact: HiGHS proves the bound
 * afterwards.
 */
const SEARCH_UNITS = 40_000_000;

/** The lower bound in micro-dollars per hour. `quick`: only from prices of resources, without HiGHS. */
export async function lowerBound(workload: Workload, quick: boolean): Promise<number> {
  let sum = 0;
  for (const part of partsOf(workload)) sum += await boundOf(part, quick);
  return sum;
}

/** The independent problems in a workload. If all pods name their NodePool, each NodePool with its pods is one. */
function partsOf(workload: Workload): readonly Workload[] {
  const poolOf = ({ template }: Workload["pods"][number]) =>
    template.spec.nodeSelector?.[NODE_POOL];
  if (workload.pods.some((group) => poolOf(group) === undefined)) return [workload];
  return workload.nodePools
    .map((pool) => ({
      ...workload,
      nodePools: [pool],
      pods: workload.pods.filter((group) => poolOf(group) === pool.metadata.name),
    }))
    .filter(({ pods }) => pods.length > 0);
}

async function boundOf(workload: Workload, quick: boolean): Promise<number> {
  const packing = packingOf(workload);
  const exact = wholeMachines(packing);
  if (exact !== undefined) return Math.floor(exact);
  const counts = packing.rows.map(({ count }) => count);
  const { prices, leastCost } = resourcePrices(packing, counts);
  let bound = leastCost;
  if (quick) return Math.floor(bound);
  const load = createRequire(import.meta.url)("highs") as () => Promise<Highs>;
  const highs = await load();
  const plain = Float64Array.from(packing.rows, ({ amounts }) => dot(amounts, prices));
  const bins = [...packing.bins.keys()];
  const seeds: Pattern[] = [];
  for (const order of fillingOrders(packing, plain)) {
    const unlimited = { units: Number.POSITIVE_INFINITY };
    const uses = atOnce(packByGreed({ packing, bins, counts, values: plain }, order, unlimited));
    seeds.push(...(uses ?? []).map(({ pattern }) => pattern));
  }
  const mix = atOnce(
    bestMix({ packing, resourcePrices: prices, bins, seeds }, counts, { units: SEARCH_UNITS }),
  );
  if (mix === undefined) return Math.floor(bound);
  const patterns = [...seeds, ...mix.columns.map(({ pattern }) => pattern)];
  let centre = plain;
  let last = Number.POSITIVE_INFINITY;
  const begunMs = performance.now();
  for (let round = 0; round < ROUNDS && performance.now() - begunMs < ROUNDS_MS; round++) {
    const best = cheapestMix(highs, packing, patterns);
    // Continues from the mean of the best pod prices and the newest ones, unless the last step improved nothing.
    const weight = best.price < last * (1 - 1e-6) ? 0.5 : 1;
    last = best.price;
    const worth = best.worth.map((one, row) =>
      Math.max(0, weight * one + (1 - weight) * (centre[row] as number)),
    );
    const found = mostWorth(highs, packing, worth);
    const reached = worthOfAll(packing, worth) / Math.max(1, found.ratio);
    if (reached > bound) {
      bound = reached;
      centre = worth;
    }
    if (best.price - bound <= best.price * CLOSE_ENOUGH) break;
    patterns.push(...found.patterns);
    if (found.patterns.length === 0 && weight === 1) break;
  }
  const proven = worthOfAll(packing, centre) / Math.max(1, provenRatio(highs, packing, centre));
  return Math.floor(Math.max(leastCost, proven));
}

function worthOfAll({ rows }: Packing, worth: Float64Array): number {
  return rows.reduce((sum, { count }, row) => sum + count * (worth[row] as number), 0);
}

/** The cheapest mix of these patterns if machines could be divided, and the dual price of each pod. */
function cheapestMix(
  highs: Highs,
  packing: Packing,
  patterns: readonly Pattern[],
): { readonly price: number; readonly worth: Float64Array } {
  const terms: string[][] = packing.rows.map(() => []);
  patterns.forEach(({ rows, times }, index) => {
    rows.forEach((row, at) => terms[row]?.push(`${times[at]} x${index}`));
  });
  const dollars = patterns.map(
    ({ bin }, index) => `${((packing.bins[bin] as Bin).price / 1e6).toPrecision(15)} x${index}`,
  );
  const rules = packing.rows
    .map(({ count }, row) => ` r${row}: ${terms[row]?.join(" + ")} >= ${count}\n`)
    .join("");
  const { ObjectiveValue, Rows } = highs.solve(
    `Minimize\n obj: ${dollars.join(" + ")}\nSubject To\n${rules}End\n`,
    { output_flag: false },
  );
  const worth = new Float64Array(packing.rows.length);
  for (const { Name, Dual } of Rows) worth[Number(Name.slice(1))] = Dual * 1e6;
  return { price: ObjectiveValue * 1e6, worth };
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, one, at) => sum + one * (b[at] as number), 0);
}

/**
 * An upper limit, over all machines, of the sum of pod prices on it divided by its own price. Also the sets of pods
 * whose sum exceeds the machine's price.
 */
function mostWorth(
  highs: Highs,
  packing: Packing,
  worth: Float64Array,
): { readonly ratio: number; readonly patterns: Pattern[] } {
  const counts = packing.rows.map(({ count }) => count);
  const relaxed = byRelaxedRatio(highs, packing, worth);
  let ratio = Math.min(1, relaxed[0]?.ratio ?? 1);
  const patterns: Pattern[] = [];
  for (const [at, { index, bin, prices, ratio: atMost }] of relaxed.entries()) {
    if (atMost <= 1 || (at >= FILLED_PER_ROUND && atMost <= ratio)) break;
    const search = new BranchAndBound(packing, bin, counts, worth, prices);
    const filling = search.best(bin.price * 1.0001, SEARCH_STEPS);
    if (filling !== undefined) patterns.push({ bin: index, ...filling });
    let most = Math.min(atMost, search.bound / bin.price);
    // The search was cut short. HiGHS is slower and gives a tighter limit.
    if (most > ratio && search.bound > search.value) {
      const proof = fillWhole(highs, packing, bin, worth);
      most = Math.min(most, proof.value / bin.price);
      if (proof.value > bin.price * (1 + 2 * PROOF_GAP))
        patterns.push({ bin: index, ...proof.filling });
    }
    ratio = Math.max(ratio, most);
  }
  return { ratio, patterns };
}

/** An upper limit of the same ratio as in `mostWorth`, proven by HiGHS alone. */
function provenRatio(highs: Highs, packing: Packing, worth: Float64Array): number {
  let ratio = 0;
  for (const { bin, ratio: atMost } of byRelaxedRatio(highs, packing, worth)) {
    if (atMost <= Math.max(1, ratio)) break;
    ratio = Math.max(
      ratio,
      Math.min(atMost, fillWhole(highs, packing, bin, worth).value / bin.price),
    );
  }
  return ratio;
}

/** Machine types by the ratio of pod prices on them to their own price if pods could be divided, highest first. */
function byRelaxedRatio(highs: Highs, packing: Packing, worth: Float64Array) {
  return packing.bins
    .map((bin, index) => {
      const { value, prices } = fillRelaxed(highs, packing, bin, worth);
      return { index, bin, prices, ratio: value / bin.price };
    })
    .sort((a, b) => b.ratio - a.ratio);
}

/**
 * An upper limit of the pod prices on one machine, as if pods could be divided, and the dual price of each of its
 * resources.
 */
function fillRelaxed(
  highs: Highs,
  packing: Packing,
  bin: Bin,
  worth: Float64Array,
): { readonly value: number; readonly prices: Float64Array } {
  const { names, model } = knapsack(packing, bin, worth);
  const prices = new Float64Array(packing.dimensions);
  if (names.length === 0) return { value: 0, prices };
  const { ObjectiveValue, Rows } = highs.solve(`${model}End\n`, { output_flag: false });
  for (const { Name, Dual } of Rows) {
    const d = Number(Name.slice(1));
    // A resource that is not scarce gets a small price too, because the search orders pods by price.
    prices[d] = (Math.max(1e-4, Math.abs(Dual)) * bin.price) / (bin.amounts[d] as number);
  }
  return { value: ObjectiveValue * bin.price * (1 + 1e-9), prices };
}

/** An upper limit of the pod prices on one machine with whole pods, and the pods of a nearly best filling. */
function fillWhole(highs: Highs, packing: Packing, bin: Bin, worth: Float64Array) {
  const { names, model } = knapsack(packing, bin, worth);
  const options = { mip_rel_gap: PROOF_GAP, time_limit: PROOF_SECONDS, output_flag: false };
  const { Status, ObjectiveValue, Columns } = highs.solve(
    `${model}General\n ${names.join(" ")}\nEnd\n`,
    options,
  );
  const times = packing.rows.map((_, row) => Math.round(Columns[`x${row}`]?.Primal ?? 0));
  const rows = [...times.keys()].filter((row) => (times[row] as number) > 0);
  const filling = { rows, times: rows.map((row) => times[row] as number) };
  const value =
    Status === "Optimal" ? ObjectiveValue * bin.price * (1 + PROOF_GAP) : Number.POSITIVE_INFINITY;
  return { value, filling };
}

/**
 * The knapsack problem as HiGHS reads it. Amounts are shares of the machine, because numbers of similar size keep the
 * solver exact.
 */
function knapsack(
  packing: Packing,
  bin: Bin,
  worth: Float64Array,
): { readonly names: readonly string[]; readonly model: string } {
  const names: string[] = [];
  const limits: string[][] = Array.from({ length: packing.dimensions }, () => []);
  const bounds: string[] = [];
  packing.rows.forEach((row, index) => {
    const most = mostInBin(bin, row, row.count);
    if (most <= 0 || (worth[index] as number) <= 0) return;
    names.push(`x${index}`);
    row.amounts.forEach((amount, d) => {
      if (amount > 0)
        limits[d]?.push(`${(amount / (bin.amounts[d] as number)).toPrecision(15)} x${index}`);
    });
    bounds.push(` 0 <= x${index} <= ${most}`);
  });
  const goal = names.map(
    (name) => `${((worth[Number(name.slice(1))] as number) / bin.price).toPrecision(15)} ${name}`,
  );
  const rules = limits
    .map((terms, d) => (terms.length > 0 ? ` d${d}: ${terms.join(" + ")} <= 1\n` : ""))
    .join("");
  return {
    names,
    model: `Maximize\n obj: ${goal.join(" + ")}\nSubject To\n${rules}Bounds\n${bounds.join("\n")}\n`,
  };
}

const SLOT = "kubernetes.io/hostname";
const NODE_POOL = "karpenter.sh/nodepool";

function packingOf({ pods, nodePools, instanceTypes }: Workload): Packing {
  const apart = (spec: (typeof pods)[number]["template"]["spec"]) =>
    (spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
      ({ topologyKey }) => topologyKey === SLOT,
    );
  const names = [
    ...new Set([
      "cpu",
      "memory",
      ...pods.flatMap(({ template }) => Object.keys(podAmounts(template))),
    ]),
  ];
  const rows = new Map<string, Row>();
  for (const { count, template } of pods) {
    const wanted = podAmounts(template);
    // Host anti-affinity allows one pod of its kind on a host. In these workloads, all pods with it are of one kind.
    const amounts = Float64Array.from([
      ...names.map((name) => wanted[name] ?? 0),
      apart(template.spec) ? 1 : 0,
    ]);
    const key = amounts.join();
    rows.set(key, { amounts, count: count + (rows.get(key)?.count ?? 0) });
  }
  const machines = new Map<string, { amounts: Float64Array; price: number }>();
  for (const pool of nodePools) {
    for (const { instanceType, allocatable, priceMicroUsd } of outcomesOf(
      pool,
      [],
      instanceTypes as never,
    )) {
      const known = machines.get(instanceType);
      if (known !== undefined && known.price <= priceMicroUsd) continue;
      const amounts = Float64Array.from([...names.map((name) => allocatable[name] ?? 0), 1]);
      machines.set(instanceType, { amounts, price: priceMicroUsd });
    }
  }
  const all = [...rows.keys()].map((_, index) => index);
  const bins: Bin[] = [];
  for (const machine of [...machines.values()].sort((a, b) => a.price - b.price)) {
    const beaten = bins.some(({ amounts }) =>
      amounts.every((amount, d) => amount >= (machine.amounts[d] as number)),
    );
    if (!beaten) bins.push({ ...machine, rows: all });
  }
  return { rows: [...rows.values()], bins, dimensions: names.length + 1 };
}
