/**
 * Greedy filling. Each kind of bin is filled in a fixed order of rows (sets of equal items). The kind with the most
 * value for its price is used as often as enough items are left. Then all kinds are filled again.
 */
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import { WORK_PER_STEP } from "../settings.ts";
import { BinFiller } from "./bin-filler.ts";
import type { Bin, Packing, Pattern, PatternUse, WorkBudget } from "./packing.ts";

/** The input of greedy filling. */
export interface GreedyTask {
  readonly packing: Packing;
  /** Indices of the kinds of bins that may be used. */
  readonly bins: readonly number[];
  /** For each row: the number of items to pack. */
  readonly counts: ArrayLike<number>;
  /** For each row: the value of one item. */
  readonly values: Float64Array;
  /** Which kinds of bins are filled again after each step. Default: `all`. */
  readonly refilled?: Refilled;
}

/**
 * `all`: every kind of bin whose last filling needs more items than are left. `ahead`: only those of them whose last
 * filling was better than the best filling found in this step. That takes a tenth of the work.
 */
export type Refilled = "all" | "ahead";

/** Packs all items, and takes rows in this order. Undefined: an item fits no bin, or the budget is spent. */
export function* packByGreed(
  task: GreedyTask,
  order: readonly number[],
  budget: WorkBudget,
): Steps<PatternUse[] | undefined> {
  const { packing, bins: among, counts, values, refilled = "all" } = task;
  // Int32Array, because V8 boxes each number that unoptimised code reads from a Float64Array.
  const left = Int32Array.from(counts);
  const filler = BinFiller.of(packing);
  const solution: PatternUse[] = [];
  let rest = left.reduce((sum, count) => sum + count, 0);
  const orders = ordersOf(packing, among, order);
  const lists = new Set(orders);
  // Rows without items are skipped but still count as work. So equal budgets allow equally many steps in every order.
  const perRound = orders.reduce((sum, { length }) => sum + length, 0);
  const known: (Pattern | undefined)[] = among.map(() => undefined);
  /** For each kind of bin: the value of its last filling over its price. Undefined: it was not filled yet. */
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
        ratio = filler.fill(bin, orders[at] as number[], left, values) / bin.price;
        pattern = filler.content(index);
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
      const enoughFor = (left[rows[at] as number] as number) / (times[at] as number);
      bins = Math.min(bins, Math.floor(enoughFor));
    }
    let isRowEmpty = false;
    for (let at = 0; at < rows.length; at++) {
      const packed = (times[at] as number) * bins;
      const row = rows[at] as number;
      left[row] = (left[row] as number) - packed;
      rest -= packed;
      if (left[row] === 0) isRowEmpty = true;
    }
    if (isRowEmpty) for (const list of lists) dropEmptyRows(list, left);
    solution.push({ pattern: best, bins });
  }
  return solution;
}

/** For each kind of bin: the rows that it may hold, in order. Kinds that may hold the same rows share one list. */
function ordersOf(
  { rows, bins }: Packing,
  among: readonly number[],
  order: readonly number[],
): number[][] {
  const made = new Map<readonly number[], number[]>();
  return among.map((index) => {
    const own = (bins[index] as Bin).rows;
    return within(made, own, () => {
      const allowed = own.length === rows.length ? undefined : new Set(own);
      return allowed === undefined ? [...order] : order.filter((row) => allowed.has(row));
    });
  });
}

/** Removes rows without items in place: a new list each time would cost much garbage collection. */
function dropEmptyRows(list: number[], left: Int32Array): void {
  let kept = 0;
  for (let at = 0; at < list.length; at++) {
    const row = list[at] as number;
    if ((left[row] as number) > 0) list[kept++] = row;
  }
  list.length = kept;
}

/** Whether enough items are left for the pattern. If so, filling the bin again would give the same pattern. */
function lasts({ rows, times }: Pattern, left: Int32Array): boolean {
  for (let at = 0; at < rows.length; at++)
    if ((left[rows[at] as number] as number) < (times[at] as number)) return false;
  return true;
}
