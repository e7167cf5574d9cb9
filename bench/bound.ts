/**
 * What no plan for a workload can undercut, proven with HiGHS: prices for pods are valid when no
 * machine holds more worth than it costs, and then the worth of all pods is a lower bound. Where the
 * prices come from does not matter; HiGHS proves of each machine how much worth it can hold (a
 * knapsack). The machines and pods are read from the workload by the validator's code, not by the
 * engine's. Zones, neighbours and labels are left out: that can only lower the bound.
 */
import { createRequire } from "node:module";
import { atOnce } from "../src/base/steps.ts";
import { bestMix } from "../src/core/planner/columns.ts";
import { fillingOrders, packByGreed } from "../src/core/planner/greedy-patterns.ts";
import type { Bin, Packing, Pattern, Row } from "../src/core/planner/packing.ts";
import { resourcePrices } from "../src/core/planner/resource-prices.ts";
import { podAmounts } from "../test/validator/kubernetes.ts";
import { outcomesOf } from "../test/validator/places.ts";
import type { Workload } from "./workload.ts";

interface Solution {
  readonly Status: string;
  readonly ObjectiveValue: number;
  readonly Columns: Readonly<Record<string, { readonly Primal: number }>>;
  readonly Rows: readonly { readonly Name: string; readonly Dual: number }[];
}

type Highs = { solve(model: string, options?: Record<string, unknown>): Solution };

/** How often the prices are bettered by what the proof found against them; sooner when little is left to win. */
const ROUNDS = 150;
const CLOSE_ENOUGH = 0.001;
/** Machines that are filled by proof in a round, those first that a relaxed filling has most worth for. */
const FILLED_PER_ROUND = 10;
/** Steps of our own search for good prices; they prove nothing. */
const SEARCH_UNITS = 40_000_000;

/** In micro-dollars an hour. `quick`: from prices of resources alone, without HiGHS. */
export async function lowerBound(workload: Workload, quick: boolean): Promise<number> {
  let sum = 0;
  for (const part of partsOf(workload)) sum += await boundOf(part, quick);
  return sum;
}

/** Where all pods name their NodePool, those of each have nothing to do with the others. */
function partsOf(workload: Workload): readonly Workload[] {
  const poolOf = ({ template }: Workload["pods"][number]) => template.spec.nodeSelector?.[NODE_POOL];
  if (workload.pods.some((group) => poolOf(group) === undefined)) return [workload];
  return workload.nodePools
    .map((pool) => ({ ...workload, nodePools: [pool], pods: workload.pods.filter((group) => poolOf(group) === pool.metadata.name) }))
    .filter(({ pods }) => pods.length > 0);
}

async function boundOf(workload: Workload, quick: boolean): Promise<number> {
  const packing = packingOf(workload);
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
    const uses = packByGreed(packing, bins, counts, plain, order, { units: Number.POSITIVE_INFINITY });
    seeds.push(...(uses ?? []).map(({ pattern }) => pattern));
  }
  const mix = atOnce(bestMix(packing, counts, prices, { units: SEARCH_UNITS }, bins, seeds));
  if (mix === undefined) return Math.floor(bound);
  const patterns = [...seeds, ...mix.columns.map(({ pattern }) => pattern)];
  let centre = plain;
  let last = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const best = cheapestMix(highs, packing, patterns);
    // Not far from the prices that were proven best, for the newest swing; unless that leads nowhere.
    const weight = best.price < last * (1 - 1e-6) ? 0.5 : 1;
    last = best.price;
    const worth = best.worth.map((one, row) => Math.max(0, weight * one + (1 - weight) * (centre[row] as number)));
    const proof = mostWorth(highs, packing, worth);
    const total = packing.rows.reduce((sum, { count }, row) => sum + count * (worth[row] as number), 0);
    const proven = total / Math.max(1, proof.ratio);
    if (proven > bound) {
      bound = proven;
      centre = worth;
    }
    if (best.price - bound <= best.price * CLOSE_ENOUGH) break;
    patterns.push(...proof.patterns);
    if (proof.patterns.length === 0 && weight === 1) break;
  }
  return Math.floor(bound);
}

/** What all pods cost when machines can be had in parts, filled by these patterns, and each pod's share of it. */
function cheapestMix(
  highs: Highs,
  packing: Packing,
  patterns: readonly Pattern[],
): { readonly price: number; readonly worth: Float64Array } {
  const terms: string[][] = packing.rows.map(() => []);
  patterns.forEach(({ rows, times }, index) => {
    rows.forEach((row, at) => terms[row]?.push(`${times[at]} x${index}`));
  });
  const dollars = patterns.map(({ bin }, index) => `${((packing.bins[bin] as Bin).price / 1e6).toPrecision(15)} x${index}`);
  const rules = packing.rows.map(({ count }, row) => ` r${row}: ${terms[row]?.join(" + ")} >= ${count}\n`).join("");
  const { ObjectiveValue, Rows } = highs.solve(`Minimize\n obj: ${dollars.join(" + ")}\nSubject To\n${rules}End\n`, { output_flag: false });
  const worth = new Float64Array(packing.rows.length);
  for (const { Name, Dual } of Rows) worth[Number(Name.slice(1))] = Dual * 1e6;
  return { price: ObjectiveValue * 1e6, worth };
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, one, at) => sum + one * (b[at] as number), 0);
}

/** The worth that the worst machine holds for its price, and the fillings that show it. */
function mostWorth(
  highs: Highs,
  packing: Packing,
  worth: Float64Array,
): { readonly ratio: number; readonly patterns: Pattern[] } {
  const relaxed = packing.bins
    .map((bin, index) => ({ index, bin, ratio: fillMost(highs, packing, bin, worth, false).value / bin.price }))
    .sort((a, b) => b.ratio - a.ratio);
  let ratio = 0;
  const patterns: Pattern[] = [];
  for (const [at, { index, bin, ratio: atMost }] of relaxed.entries()) {
    if (atMost <= 1 || (at >= FILLED_PER_ROUND && atMost <= ratio)) break;
    const { value, times } = fillMost(highs, packing, bin, worth, true);
    ratio = Math.max(ratio, value / bin.price);
    if (value <= bin.price * 1.0001) continue;
    const rows = [...times.keys()].filter((row) => (times[row] as number) > 0);
    patterns.push({ bin: index, rows, times: rows.map((row) => times[row] as number) });
  }
  return { ratio: Math.max(ratio, Math.min(1, relaxed[0]?.ratio ?? 1)), patterns };
}

/** The most worth one machine can hold; `whole`: with pods uncut. Never less than the truth. */
function fillMost(
  highs: Highs,
  packing: Packing,
  bin: Bin,
  worth: Float64Array,
  whole: boolean,
): { readonly value: number; readonly times: readonly number[] } {
  const names: string[] = [];
  const limits: string[][] = Array.from({ length: packing.dimensions }, () => []);
  const bounds: string[] = [];
  packing.rows.forEach(({ amounts, count }, row) => {
    const most = Math.min(
      count,
      ...[...amounts].map((amount, d) => (amount > 0 ? Math.floor((bin.amounts[d] as number) / amount) : count)),
    );
    if (most <= 0 || (worth[row] as number) <= 0) return;
    names.push(`x${row}`);
    amounts.forEach((amount, d) => {
      // In shares of the machine: numbers of one size keep the solver exact.
      if (amount > 0) limits[d]?.push(`${(amount / (bin.amounts[d] as number)).toPrecision(15)} x${row}`);
    });
    bounds.push(` 0 <= x${row} <= ${most}`);
  });
  if (names.length === 0) return { value: 0, times: [] };
  const goal = names.map((name) => `${((worth[Number(name.slice(1))] as number) / bin.price).toPrecision(15)} ${name}`);
  const rules = limits.map((terms, d) => (terms.length > 0 ? ` d${d}: ${terms.join(" + ")} <= 1\n` : "")).join("");
  const model = `Maximize\n obj: ${goal.join(" + ")}\nSubject To\n${rules}Bounds\n${bounds.join("\n")}\n${whole ? `General\n ${names.join(" ")}\n` : ""}End\n`;
  const gap = 5e-4;
  const found = highs.solve(model, whole ? { mip_rel_gap: gap, time_limit: 5, output_flag: false } : { output_flag: false });
  const times = packing.rows.map((_, row) => Math.round(found.Columns[`x${row}`]?.Primal ?? 0));
  if (whole && found.Status !== "Optimal") return { value: fillMost(highs, packing, bin, worth, false).value, times };
  return { value: found.ObjectiveValue * bin.price * (whole ? 1 + gap : 1 + 1e-9), times };
}

const SLOT = "kubernetes.io/hostname";
const NODE_POOL = "karpenter.sh/nodepool";

function packingOf({ pods, nodePools, instanceTypes }: Workload): Packing {
  const apart = (spec: (typeof pods)[number]["template"]["spec"]) =>
    (spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
      ({ topologyKey }) => topologyKey === SLOT,
    );
  const names = [...new Set(["cpu", "memory", ...pods.flatMap(({ template }) => Object.keys(podAmounts(template)))])];
  const rows = new Map<string, Row>();
  for (const { count, template } of pods) {
    const wanted = podAmounts(template);
    // Pods that keep off their own kind: one a host. All that do so here are of one kind.
    const amounts = Float64Array.from([...names.map((name) => wanted[name] ?? 0), apart(template.spec) ? 1 : 0]);
    const key = amounts.join();
    rows.set(key, { amounts, count: count + (rows.get(key)?.count ?? 0) });
  }
  const machines = new Map<string, { amounts: Float64Array; price: number }>();
  for (const pool of nodePools) {
    for (const { instanceType, allocatable, priceMicroUsd } of outcomesOf(pool, [], instanceTypes as never)) {
      const known = machines.get(instanceType);
      if (known !== undefined && known.price <= priceMicroUsd) continue;
      const amounts = Float64Array.from([...names.map((name) => allocatable[name] ?? 0), 1]);
      machines.set(instanceType, { amounts, price: priceMicroUsd });
    }
  }
  const all = [...rows.keys()].map((_, index) => index);
  const bins: Bin[] = [];
  for (const machine of [...machines.values()].sort((a, b) => a.price - b.price)) {
    const beaten = bins.some(({ amounts }) => amounts.every((amount, d) => amount >= (machine.amounts[d] as number)));
    if (!beaten) bins.push({ ...machine, rows: all });
  }
  return { rows: [...rows.values()], bins, dimensions: names.length + 1 };
}
