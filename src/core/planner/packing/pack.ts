/**
 * The cheapest packing that the budget allows: bins that are filled alike first, which is often all that there is to
 * find; patterns by greed, which take no time either, then column generation on top of them while there is work left,
 * then greed again by what the columns taught. Where many items keep apart on hosts, greed again and again instead.
 * Of all of them the cheapest; and of its bins two are made one where that costs no more.
 */
import type { Steps } from "../../../base/steps.ts";
import type { PlannerOptions } from "../planner-options.ts";
import { packByColumns } from "./columns.ts";
import { packEvenly } from "./even-patterns.ts";
import { fillingOrders, packByGreed } from "./greedy-patterns.ts";
import { merge } from "./merge.ts";
import {
  type Bin,
  type Budget,
  holds,
  type Packing,
  type Pattern,
  priceOf,
  type Row,
  type Use,
} from "./packing.ts";
import { partsOf, sharesOf } from "./parts.ts";
import type { ResourcePrices } from "./resource-prices.ts";
import { annealed } from "./reweighted-greedy.ts";

/** Plans whose prices differ by no more than this share are about equal. */
const ABOUT_EQUAL = 0.005;
/** What costs no more than this times what it costs at the least is not looked for any better. */
const GOOD_ENOUGH = 1.01;
/** From this share of items that keep apart on hosts on, bins that are filled alike come to too many. */
const MOST_APART = 0.1;
/** More items have time for columns, which then find a little more. */
const MOST_ANNEALED = 6_000;
/** So few have columns as well. */
const FEW = 500;
/** Steps of greed for these after columns, some ten milliseconds at most. */
const MOST_FOR_FEW = 2_000_000;
/**
 * Steps for each item that one filling may take whatever the budget says, and at most: with hundreds of rows of a
 * few items each it would else be cut short before it comes to anything. About a tenth of what the engine takes.
 */
const LEAST_WORK = 1_000;
const MOST_LENT = 10_000_000;
/** Of what its resources cost, for a row that columns hold more of than there is. */
const LEAST_WORTH = 0.01;
/** Dividing takes away most of the work: so much of what it spares goes into the search. */
const STEPS_OF_SHARE = 2.5;

/** `bins` of the uses are positions in `packing.bins`; undefined when nothing was found. */
export function* pack(
  packing: Packing,
  { prices }: ResourcePrices,
  budget: Budget,
  options: Pick<PlannerOptions, "maxBins" | "learnedOrders">,
): Steps<readonly Use[] | undefined> {
  const apart = partsOf(packing);
  // Where there are several each has fewer nodes: too many would be half empty in shares of them.
  const parts = apart.length === 1 ? apart.flatMap(sharesOf) : apart;
  const steps = parts === apart || parts.length === 1 ? 1 : STEPS_OF_SHARE;
  let rest = parts.reduce((sum, { count }) => sum + count, 0);
  const found: (readonly Use[])[] = [];
  for (const { packing: part, count, inWhole } of parts) {
    // What one part leaves of its work is the others'.
    const share = rest === 0 ? 0 : (budget.units * count) / rest;
    const own = { units: share * steps };
    rest -= count;
    const uses = yield* packPart(part, prices, own, options);
    budget.units += own.units / steps - share;
    if (uses !== undefined) found.push(inWhole(uses));
  }
  return found.length === 0 ? undefined : found.flat();
}

function* packPart(
  packing: Packing,
  prices: Float64Array,
  budget: Budget,
  { maxBins, learnedOrders = 1 }: Pick<PlannerOptions, "maxBins" | "learnedOrders">,
): Steps<readonly Use[] | undefined> {
  const counts = packing.rows.map(({ count }) => count);
  const kept = bestBuys(packing, prices, maxBins);
  const worth = Float64Array.from(packing.rows, ({ amounts }) =>
    amounts.reduce((sum, amount, d) => sum + amount * (prices[d] as number), 0),
  );
  const found: (readonly Use[])[] = [];
  const seeds: Pattern[] = [];
  let lent = lentTo(budget, counts);
  const mayBeAlike = shareApart(packing) < MOST_APART;
  const even = mayBeAlike ? yield* evenly(packing, kept, counts, budget, lent) : undefined;
  if (even !== undefined) {
    if (priceOf(packing, even) <= leastCostOf(worth, counts) * GOOD_ENOUGH)
      return merge(packing, even);
    found.push(even);
    seeds.push(...even.map(({ pattern }) => pattern));
  }
  const items = itemsOf(counts);
  const isAnnealed = !mayBeAlike && items <= MOST_ANNEALED;
  const hasColumns = !isAnnealed || items <= FEW;
  const refilled = hasColumns ? "all" : "ahead";
  const orders = fillingOrders(packing, worth);
  // Rounds from there come to as much as from the best of all orders, for they end far from where they begin.
  for (const order of hasColumns ? orders : orders.slice(0, 1)) {
    yield;
    const own = { units: budget.units + lent };
    const uses = yield* packByGreed(packing, kept, counts, worth, order, own, refilled);
    budget.units = own.units - lent;
    lent = 0;
    if (uses === undefined) continue;
    found.push(uses);
    seeds.push(...uses.map(({ pattern }) => pattern));
  }
  if (hasColumns && budget.units > 0) {
    const settings = { learnedOrders, mayBeAlike };
    found.push(...(yield* fromColumns({ packing, prices, kept, worth, seeds }, budget, settings)));
  }
  const start = isAnnealed ? bestOf(packing, found) : undefined;
  if (start !== undefined) {
    const own = hasColumns ? { units: MOST_FOR_FEW } : budget;
    found.push(...(yield* annealed({ packing, kept, counts, worth }, found, start, own)));
  }
  const best = bestOf(packing, found);
  return best === undefined ? undefined : merge(packing, best);
}

/** What a packing is made of. */
interface Makings {
  readonly packing: Packing;
  readonly prices: Float64Array;
  /** Bins that are weighed; those that turn out better join them. */
  readonly kept: number[];
  readonly worth: Float64Array;
  readonly seeds: readonly Pattern[];
}

/** By the cheapest mix of patterns, and by greed by what items are worth in it. */
function* fromColumns(
  { packing, prices, kept, worth, seeds }: Makings,
  budget: Budget,
  { learnedOrders, mayBeAlike }: { readonly learnedOrders: number; readonly mayBeAlike: boolean },
): Steps<readonly (readonly Use[])[]> {
  const columns = yield* packByColumns(packing, prices, budget, kept, seeds);
  if (columns === undefined) return [];
  const { left, uses } = columns;
  const found: (readonly Use[])[] = [];
  const counts = packing.rows.map(({ count }) => count);
  const learned = neverNothing(columns.worth, worth);
  const reserve = { units: Number.POSITIVE_INFINITY };
  const alike = mayBeAlike ? yield* packEvenly(packing, kept, left, reserve) : undefined;
  if (alike !== undefined) found.push([...uses, ...alike]);
  for (const order of fillingOrders(packing, learned).slice(0, learnedOrders)) {
    yield;
    const rest = yield* packByGreed(packing, kept, left, learned, order, reserve);
    if (rest !== undefined) found.push([...uses, ...rest]);
    yield;
    const again = yield* packByGreed(packing, kept, counts, learned, order, reserve);
    if (again !== undefined) found.push(again);
  }
  return found;
}

/**
 * Columns that hold more of a row than there is make it worth nothing, or less where the budget ended first. By greed
 * such a bin of it would then never be filled, and all that the columns found would be lost for its last few items.
 */
function neverNothing(learned: Float64Array, worth: Float64Array): Float64Array {
  return learned.map((one, row) => Math.max(one, (worth[row] as number) * LEAST_WORTH));
}

/** Of all items: those of which only so many may be on one host. */
function shareApart({ rows, dimensions, slots = 0 }: Packing): number {
  let [all, apart] = [0, 0];
  for (const { amounts, count } of rows) {
    all += count;
    if (amounts.subarray(dimensions - slots).some((amount) => amount > 0)) apart += count;
  }
  return all === 0 ? 0 : apart / all;
}

/** What it takes beyond what is lent is the budget's. */
function* evenly(
  packing: Packing,
  kept: readonly number[],
  counts: readonly number[],
  budget: Budget,
  lent: number,
): Steps<readonly Use[] | undefined> {
  const own = { units: budget.units + lent };
  const uses = yield* packEvenly(packing, kept, counts, own);
  budget.units = Math.min(budget.units, own.units);
  return uses;
}

function leastCostOf(worth: Float64Array, counts: readonly number[]): number {
  return counts.reduce((sum, count, row) => sum + count * (worth[row] as number), 0);
}

function lentTo({ units }: Budget, counts: readonly number[]): number {
  return Math.max(0, Math.min(itemsOf(counts) * LEAST_WORK, MOST_LENT) - units);
}

function itemsOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** The cheapest; of those that cost about as much the one with fewest nodes. */
function bestOf(packing: Packing, found: readonly (readonly Use[])[]): readonly Use[] | undefined {
  const plans = found.map((uses) => ({
    uses,
    price: priceOf(packing, uses),
    nodes: uses.reduce((sum, { bins }) => sum + bins, 0),
  }));
  const least = Math.min(...plans.map(({ price }) => price));
  const near = plans.filter(({ price }) => price <= least * (1 + ABOUT_EQUAL));
  return near.sort((a, b) => a.nodes - b.nodes || a.price - b.price)[0]?.uses;
}

/** The bins with most worth for their price, and for each row the one it is cheapest in. */
function bestBuys(packing: Packing, prices: Float64Array, most: number): number[] {
  const ratio = packing.bins.map(
    ({ amounts, price }) =>
      amounts.reduce((sum, amount, d) => sum + amount * (prices[d] as number), 0) / price,
  );
  const bySet = new Map<readonly number[], number[]>();
  packing.bins.forEach((bin, index) => {
    const list = bySet.get(bin.rows) ?? [];
    list.push(index);
    bySet.set(bin.rows, list);
  });
  const kept = new Set<number>();
  for (const list of bySet.values()) {
    list.sort((a, b) => (ratio[b] as number) - (ratio[a] as number) || a - b);
    for (const index of list.slice(0, most)) kept.add(index);
  }
  packing.rows.forEach((row, index) => {
    const bin = cheapestAlone(packing, row, index);
    if (bin !== undefined) kept.add(bin);
  });
  return [...kept].sort((a, b) => a - b);
}

function cheapestAlone({ bins }: Packing, { amounts }: Row, index: number): number | undefined {
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
