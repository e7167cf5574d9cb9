/**
 * Packs the items (pods) of a packing problem into bins (nodes) that cost as little as the work budget allows. A host
 * rule limits items in one bin, such as an anti-affinity over hosts. The steps, in order:
 *
 * 1. Even patterns, if few items are under host rules. If they cost hardly more than the lower bound, the search ends.
 * 2. Greedy filling in up to five orders, which takes little work.
 * 3. Column generation, which starts from the patterns of steps 1 and 2, and greedy filling by its dual prices.
 * 4. Reweighted greedy, if many items are under host rules and there are not too many items. It replaces step 3, unless
 *    there are only a few items.
 *
 * The cheapest solution is chosen. At the end, two of its bins become one where that costs no more.
 */
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import { uses, type WithoutHeuristics } from "../heuristics.ts";
import type { PlannerOptions } from "../planner-options.ts";
import {
  ABOUT_EQUAL,
  FEW_PODS,
  GOOD_ENOUGH,
  LEAST_DUAL_SHARE,
  LENT_WORK_PER_POD,
  MANY_HOST_RULES,
  MOST_BINS,
  MOST_LENT_WORK,
  MOST_REWEIGHTED,
  WORK_FOR_FEW_PODS,
} from "../settings.ts";
import { packByColumns } from "./columns.ts";
import { packEvenly } from "./even-patterns.ts";
import { type GreedyTask, packByGreed } from "./greedy-patterns.ts";
import { mergeBins } from "./merge-bins.ts";
import {
  type Bin,
  dot,
  holds,
  type Packing,
  type Pattern,
  type PatternUse,
  packingPrice,
  type Row,
  type WorkBudget,
} from "./packing.ts";
import { partsOf } from "./parts.ts";
import type { ResourcePrices } from "./resource-prices.ts";
import { reweightedGreedy } from "./reweighted-greedy.ts";
import { fillingOrders } from "./row-orders.ts";

type Solution = readonly PatternUse[];

type PackOptions = Pick<PlannerOptions, "dualPriceOrders"> & WithoutHeuristics;

/** The solutions of the independent parts together. A part without a solution is left out. Undefined: none has one. */
export function* pack(
  packing: Packing,
  { prices }: ResourcePrices,
  budget: WorkBudget,
  options: PackOptions,
): Steps<Solution | undefined> {
  const parts = partsOf(packing);
  let rest = parts.reduce((sum, { count }) => sum + count, 0);
  const found: Solution[] = [];
  for (const { packing: part, count, inWhole } of parts) {
    // Each part gets a share of the steps by its number of items. Steps that a part does not use go to later parts.
    const share = rest === 0 ? 0 : (budget.units * count) / rest;
    const own = { units: share };
    rest -= count;
    const solution = yield* packPart(part, prices, own, options);
    budget.units += own.units - share;
    if (solution !== undefined) found.push(inWhole(solution));
  }
  return found.length === 0 ? undefined : found.flat();
}

function* packPart(
  packing: Packing,
  prices: Float64Array,
  budget: WorkBudget,
  options: PackOptions,
): Steps<Solution | undefined> {
  const best = yield* cheapestSolution(packing, prices, budget, options);
  if (best === undefined || !uses(options, "mergeBins")) return best;
  return mergeBins(packing, best);
}

function stepsFor(packing: Packing, items: number, options: PackOptions) {
  const hasFewHostRules = hostRuleShare(packing) < MANY_HOST_RULES;
  const isReweighted =
    !hasFewHostRules && items <= MOST_REWEIGHTED && uses(options, "reweightedGreedy");
  return {
    isEven: hasFewHostRules && uses(options, "evenPatterns"),
    isReweighted,
    hasColumns: !isReweighted || items <= FEW_PODS,
  };
}

function* cheapestSolution(
  packing: Packing,
  prices: Float64Array,
  budget: WorkBudget,
  options: PackOptions,
): Steps<Solution | undefined> {
  const counts = packing.rows.map(({ count }) => count);
  const items = counts.reduce((sum, count) => sum + count, 0);
  const bins = bestBuys(packing, prices);
  // The value of an item is what its resources cost.
  const values = Float64Array.from(packing.rows, ({ amounts }) => dot(amounts, prices));
  const { isEven, isReweighted, hasColumns } = stepsFor(packing, items, options);
  const found: Solution[] = [];
  let lent = lentWork(budget, items);
  if (isEven) {
    const own = { units: budget.units + lent };
    const even = yield* packEvenly(packing, bins, counts, own);
    // The lent steps are free for even patterns. Only steps beyond them are charged to the budget.
    budget.units = Math.min(budget.units, own.units);
    if (even !== undefined) {
      const least = counts.reduce((sum, count, row) => sum + count * (values[row] as number), 0);
      if (packingPrice(packing, even) <= least * GOOD_ENOUGH) return even;
      found.push(even);
    }
  }
  const refilled = hasColumns ? "all" : "ahead";
  const greedy: GreedyTask = { packing, bins, counts, values, refilled };
  const orders = fillingOrders(packing, values);
  // Reweighted greedy moves far away from its start, so one order is as good a start as five.
  const isOneOrder = !hasColumns || !uses(options, "fillingOrders");
  for (const order of isOneOrder ? orders.slice(0, 1) : orders) {
    yield;
    const own = { units: budget.units + lent };
    const solution = yield* packByGreed(greedy, order, own);
    budget.units = own.units - lent;
    lent = 0;
    if (solution !== undefined) found.push(solution);
  }
  if (hasColumns && budget.units > 0 && uses(options, "columns"))
    found.push(
      ...(yield* solutionsByColumns({ greedy, bins, prices, isEven }, found, budget, options)),
    );
  const start = isReweighted ? bestOf(packing, found) : undefined;
  if (start !== undefined) {
    const own = hasColumns ? { units: WORK_FOR_FEW_PODS } : budget;
    found.push(...(yield* reweightedGreedy(greedy, found, start, own)));
  }
  return bestOf(packing, found);
}

interface ColumnStep {
  readonly greedy: GreedyTask;
  /** The kinds of bins that all steps use. Column generation adds further kinds that it finds better. */
  readonly bins: number[];
  readonly prices: Float64Array;
  readonly isEven: boolean;
}

/**
 * Two kinds of solutions: the cheapest mix of patterns with the remaining items packed evenly or greedily, and all
 * items packed greedily by the dual prices of the mix. `known`: the solutions of earlier steps.
 */
function* solutionsByColumns(
  { greedy, bins, prices, isEven }: ColumnStep,
  known: readonly Solution[],
  budget: WorkBudget,
  options: PackOptions,
): Steps<readonly Solution[]> {
  const { packing, counts, values } = greedy;
  const seeds: readonly Pattern[] = known.flatMap((one) => one.map(({ pattern }) => pattern));
  const task = { ...options, packing, resourcePrices: prices, bins, seeds };
  const columns = yield* packByColumns(task, budget);
  if (columns === undefined) return [];
  const { left, solution } = columns;
  const found: Solution[] = [];
  const dualPrices = aboveZero(columns.dualPrices, values);
  const unlimited = { units: Number.POSITIVE_INFINITY };
  const even = isEven ? yield* packEvenly(packing, bins, left, unlimited) : undefined;
  if (even !== undefined) found.push([...solution, ...even]);
  const orders = fillingOrders(packing, dualPrices).slice(0, options.dualPriceOrders ?? 1);
  for (const order of orders) {
    const byDuals: GreedyTask = { packing, bins, counts: left, values: dualPrices };
    yield;
    const rest = yield* packByGreed(byDuals, order, unlimited);
    if (rest !== undefined) found.push([...solution, ...rest]);
    if (!uses(options, "dualPriceGreedy")) continue;
    yield;
    const all = yield* packByGreed({ ...byDuals, counts }, order, unlimited);
    if (all !== undefined) found.push(all);
  }
  return found;
}

/**
 * Raises dual prices to a small positive value. If the mix packs more items of a row than exist, the dual price of the
 * row is zero or less. Greedy filling would never fill a bin for such a row, and the whole solution would fail.
 */
function aboveZero(dualPrices: Float64Array, values: Float64Array): Float64Array {
  return dualPrices.map((one, row) => Math.max(one, (values[row] as number) * LEAST_DUAL_SHARE));
}

function hostRuleShare({ rows, dimensions, hostDimensions = 0 }: Packing): number {
  let [all, under] = [0, 0];
  for (const { amounts, count } of rows) {
    all += count;
    if (amounts.subarray(dimensions - hostDimensions).some((amount) => amount > 0)) under += count;
  }
  return all === 0 ? 0 : under / all;
}

/**
 * Steps lent to the first fillings if the budget is small. Otherwise hundreds of rows with few items find no solution.
 */
function lentWork({ units }: WorkBudget, items: number): number {
  return Math.max(0, Math.min(items * LENT_WORK_PER_POD, MOST_LENT_WORK) - units);
}

/** The cheapest solution. Among solutions of about the same price, the one with the fewest bins. */
function bestOf(packing: Packing, found: readonly Solution[]): Solution | undefined {
  const priced = found.map((solution) => ({
    solution,
    price: packingPrice(packing, solution),
    nodes: solution.reduce((sum, { bins }) => sum + bins, 0),
  }));
  const least = Math.min(...priced.map(({ price }) => price));
  const near = priced.filter(({ price }) => price <= least * (1 + ABOUT_EQUAL));
  return near.sort((a, b) => a.nodes - b.nodes || a.price - b.price)[0]?.solution;
}

/**
 * Indices of the kinds of bins to start with. For each list of rows that bins may hold: the `MOST_BINS` kinds with the
 * most value for their price. Also the cheapest kind for each row.
 */
function bestBuys(packing: Packing, prices: Float64Array): number[] {
  const ratios = packing.bins.map(({ amounts, price }) => dot(amounts, prices) / price);
  const byRows = new Map<readonly number[], number[]>();
  packing.bins.forEach((bin, index) => {
    within(byRows, bin.rows, () => []).push(index);
  });
  const kept = new Set<number>();
  for (const list of byRows.values()) {
    list.sort((a, b) => (ratios[b] as number) - (ratios[a] as number) || a - b);
    for (const index of list.slice(0, MOST_BINS)) kept.add(index);
  }
  packing.rows.forEach((row, index) => {
    const bin = cheapestFor(packing, row, index);
    if (bin !== undefined) kept.add(bin);
  });
  return [...kept].sort((a, b) => a - b);
}

/** The cheapest kind of bin that holds one item of the row, as an index. Undefined: no kind does. */
function cheapestFor({ bins }: Packing, { amounts }: Row, index: number): number | undefined {
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < bins.length; at++) {
    const bin = bins[at] as Bin;
    if (bin.price >= least || !holds(bin.amounts, amounts) || !bin.rows.includes(index)) continue;
    least = bin.price;
    best = at;
  }
  return best;
}
