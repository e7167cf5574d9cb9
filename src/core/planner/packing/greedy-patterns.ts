/**
 * Patterns by greed: of all bins, filled in some fixed order, the one that holds most worth for its
 * price, as often as the items last; then anew with what is left.
 */
import type { Steps } from "../../../base/steps.ts";
import {
  type Bin,
  type Budget,
  Filling,
  largestKeyFirst,
  type Packing,
  type Pattern,
  type Use,
} from "./packing.ts";

/** Units of work before others get a turn: some milliseconds. */
const WORK_PER_STEP = 500_000;

/**
 * Takes all of `counts` into these bins; undefined when something fits in none, or the budget is spent. Takes a while.
 * `refilled`: of bins whose last filling there are not items enough for any more `all` are filled anew each time, or those
 * that were `ahead` of the best one. The latter is a tenth of the work, of which only what is done counts.
 */
export function* packByGreed(
  packing: Packing,
  among: readonly number[],
  counts: ArrayLike<number>,
  worth: Float64Array,
  order: readonly number[],
  budget: Budget,
  refilled: "all" | "ahead" = "all",
): Steps<Use[] | undefined> {
  // Whole numbers, which code that is not compiled yet need not box.
  const left = Int32Array.from(counts);
  const filling = Filling.of(packing);
  const uses: Use[] = [];
  let rest = left.reduce((sum, count) => sum + count, 0);
  const orders = ordersOf(packing, among, order);
  const lists = new Set(orders);
  // Rows that have run out are looked at no more, but count: by that the budget is reckoned.
  const perRound = orders.reduce((sum, { length }) => sum + length, 0);
  const known: (Pattern | undefined)[] = among.map(() => undefined);
  /** Their worth for their price. Nothing at first, or each would be boxed anew whenever it is read. */
  const ratios: (number | undefined)[] = among.map(() => undefined);
  let spent = 0;
  while (rest > 0) {
    if (spent >= WORK_PER_STEP) {
      yield;
      spent = 0;
    }
    let work = refilled === "all" ? perRound : among.length;
    let best: Pattern | undefined;
    let most = 0;
    for (let at = 0; at < among.length; at++) {
      let pattern = known[at];
      let ratio = ratios[at] ?? 0;
      if (refilled === "ahead" && pattern !== undefined && ratio <= most) continue;
      if (pattern === undefined || !lasts(pattern, left)) {
        const index = among[at] as number;
        const bin = packing.bins[index] as Bin;
        ratio = filling.fill(bin, orders[at] as number[], left, worth) / bin.price;
        pattern = filling.content(index);
        known[at] = pattern;
        ratios[at] = ratio;
        if (refilled === "ahead") work += (orders[at] as number[]).length;
      }
      if (ratio <= most * (1 + 1e-12)) continue;
      best = pattern;
      most = ratio;
    }
    spent += work;
    budget.units -= work;
    if (best === undefined || budget.units <= 0) return undefined;
    const { rows, times } = best;
    let bins = Number.POSITIVE_INFINITY;
    for (let at = 0; at < rows.length; at++) {
      const held = (left[rows[at] as number] as number) / (times[at] as number);
      bins = Math.min(bins, Math.floor(held));
    }
    let isOut = false;
    for (let at = 0; at < rows.length; at++) {
      const gone = (times[at] as number) * bins;
      const row = rows[at] as number;
      left[row] = (left[row] as number) - gone;
      rest -= gone;
      if (left[row] === 0) isOut = true;
    }
    if (isOut) for (const list of lists) dropRunOut(list, left);
    uses.push({ pattern: best, bins });
  }
  return uses;
}

/** Of each bin: the rows that may go in, in order. Bins that welcome the same rows share the list. */
function ordersOf(
  { rows, bins }: Packing,
  among: readonly number[],
  order: readonly number[],
): number[][] {
  const made = new Map<readonly number[], number[]>();
  return among.map((index) => {
    const welcome = (bins[index] as Bin).rows;
    let list = made.get(welcome);
    if (list === undefined) {
      const allowed = welcome.length === rows.length ? undefined : new Set(welcome);
      list = allowed === undefined ? [...order] : order.filter((row) => allowed.has(row));
      made.set(welcome, list);
    }
    return list;
  });
}

/** In place: rows run out all the time. */
function dropRunOut(list: number[], left: Int32Array): void {
  let kept = 0;
  for (let at = 0; at < list.length; at++) {
    const row = list[at] as number;
    if ((left[row] as number) > 0) list[kept++] = row;
  }
  list.length = kept;
}

/** Whether the bin would be filled the very same way: what did not go in then does not with fewer of it. */
function lasts({ rows, times }: Pattern, left: Int32Array): boolean {
  for (let at = 0; at < rows.length; at++)
    if ((left[rows[at] as number] as number) < (times[at] as number)) return false;
  return true;
}

/** Orders worth a try: by worth, by each of the first two dimensions, by their ratio. */
export function fillingOrders(packing: Packing, worth: Float64Array): number[][] {
  const by = (key: (amounts: Float64Array) => number) =>
    byKeys(packing.rows.map(({ amounts }) => key(amounts)));
  return [
    byKeys(worth),
    by((amounts) => amounts[0] as number),
    by((amounts) => amounts[1] as number),
    ...ratioOrders(packing),
  ];
}

/** By the ratio of the first two dimensions, and by its inverse. */
export function ratioOrders({ rows }: Packing): [number[], number[]] {
  const over = (a: 0 | 1, b: 0 | 1) =>
    byKeys(rows.map(({ amounts }) => (amounts[a] as number) / ((amounts[b] as number) + 1)));
  return [over(0, 1), over(1, 0)];
}

/** Rows by these, the largest first. */
export function byKeys(keys: ArrayLike<number>): number[] {
  const own = Float64Array.from(keys);
  return largestKeyFirst([...own.keys()], own);
}
