/**
 * Greed again and again: items that went into bins which hold little for their price are worth more the next time, so
 * that they are packed sooner and in better company. A few rounds find as much as column generation does where rules of
 * hosts ask for many small bins, in a fraction of its time.
 */
import type { Steps } from "../../../base/steps.ts";
import { byKeys, packByGreed, ratioOrders } from "./greedy-patterns.ts";
import type { Bin, Budget, Packing, Pattern, Use } from "./packing.ts";

const ROUNDS = 16;
/** Every third round fills by shape, now the one way and now the other, for worth alone comes to the same bins again. */
const BY_SHAPE = 3;

/** What greed fills, and with what. */
interface Greedy {
  readonly packing: Packing;
  /** Bins that are weighed. */
  readonly kept: readonly number[];
  /** By row: how many items, and what one is worth. */
  readonly counts: readonly number[];
  readonly worth: Float64Array;
}

/**
 * What rounds that started from `best` came to. Ends when the budget is spent. By worth they fill only bins that are in
 * a packing that is `known`: bins that greed has no use for take most of the time.
 */
export function* annealed(
  { packing, kept, counts, worth }: Greedy,
  known: readonly (readonly Use[])[],
  best: readonly Use[],
  budget: Budget,
): Steps<readonly (readonly Use[])[]> {
  const used = new Set(known.flatMap((uses) => uses.map(({ pattern }) => pattern.bin)));
  const ofUse = kept.filter((bin) => used.has(bin));
  const shapes = ratioOrders(packing);
  const warm = worth.slice();
  const found: (readonly Use[])[] = [];
  let last = best;
  for (let round = 0; round < ROUNDS && budget.units > 0; round++) {
    yield;
    heat(packing, last, warm);
    const shape = round % BY_SHAPE === BY_SHAPE - 1 ? shapes[round % 2] : undefined;
    const [order, among] = shape === undefined ? [byKeys(warm), ofUse] : [shape, kept];
    const uses = yield* packByGreed(packing, among, counts, warm, order, budget, "ahead");
    if (uses === undefined) continue;
    found.push(uses);
    last = uses;
  }
  return found;
}

/** Makes each row worth more, or less, by what the bins that it is in hold for their price. */
function heat({ rows, bins }: Packing, uses: readonly Use[], worth: Float64Array): void {
  const items = new Int32Array(rows.length);
  const held = new Float64Array(rows.length);
  let [value, price] = [0, 0];
  for (const use of uses) {
    const own = (bins[use.pattern.bin] as Bin).price;
    const inOne = worthOf(use.pattern, worth);
    value += inOne * use.bins;
    price += own * use.bins;
    hold(use, inOne / own, items, held);
  }
  for (let row = 0; row < rows.length; row++) {
    const own = held[row] as number;
    if (own > 0)
      worth[row] =
        (worth[row] as number) * tempered(((value / price) * (items[row] as number)) / own);
  }
}

/**
 * How much more an item is worth of what its bins lack: to the power of 3/8. A square root is exact wherever it is taken,
 * a power is not: its last digit differs between versions of V8, and plans with it.
 */
function tempered(lack: number): number {
  return Math.sqrt(Math.sqrt(lack * Math.sqrt(lack)));
}

/** What one bin holds is worth. */
function worthOf({ rows, times }: Pattern, worth: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < rows.length; at++)
    sum += (worth[rows[at] as number] as number) * (times[at] as number);
  return sum;
}

/** Adds the items of these bins, and the same each times what its bin holds for its price. */
function hold({ pattern, bins }: Use, ratio: number, items: Int32Array, held: Float64Array): void {
  const { rows, times } = pattern;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as number;
    const gone = (times[at] as number) * bins;
    items[row] = (items[row] as number) + gone;
    held[row] = (held[row] as number) + gone * ratio;
  }
}
