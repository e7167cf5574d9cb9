/**
 * Patterns by greed: of all bins, filled in some fixed order, the one that holds most worth for its
 * price, as often as the items last; then anew with what is left.
 */
import {
  type Bin,
  type Budget,
  Filling,
  largestKeyFirst,
  type Packing,
  type Pattern,
  type Use,
} from "./packing.ts";

/** Takes all of `counts` into these bins; undefined when something fits in none, or the budget is spent. */
export function packByGreed(
  packing: Packing,
  among: readonly number[],
  counts: ArrayLike<number>,
  worth: Float64Array,
  order: readonly number[],
  budget: Budget,
): Use[] | undefined {
  const left = Float64Array.from(counts);
  const filling = new Filling(packing);
  const uses: Use[] = [];
  let rest = left.reduce((sum, count) => sum + count, 0);
  const orders = among.map((index) => {
    const bin = packing.bins[index] as Bin;
    if (bin.rows.length === packing.rows.length) return order;
    const allowed = new Set(bin.rows);
    return order.filter((row) => allowed.has(row));
  });
  while (rest > 0) {
    let best: Pattern | undefined;
    let most = 0;
    for (let at = 0; at < among.length; at++) {
      const index = among[at] as number;
      const bin = packing.bins[index] as Bin;
      const list = orders[at] as readonly number[];
      budget.units -= list.length;
      const ratio = filling.fill(bin, list, left, worth) / bin.price;
      if (ratio > most * (1 + 1e-12)) {
        most = ratio;
        best = { bin: index, ...filling.content() };
      }
    }
    if (best === undefined || budget.units <= 0) return undefined;
    const { rows, times } = best;
    let bins = Number.POSITIVE_INFINITY;
    for (let at = 0; at < rows.length; at++) {
      const held = (left[rows[at] as number] as number) / (times[at] as number);
      bins = Math.min(bins, Math.floor(held));
    }
    for (let at = 0; at < rows.length; at++) {
      const gone = (times[at] as number) * bins;
      const row = rows[at] as number;
      left[row] = (left[row] as number) - gone;
      rest -= gone;
    }
    uses.push({ pattern: best, bins });
  }
  return uses;
}

/** Orders worth a try: by worth, by each of the first two dimensions, by their ratio. */
export function fillingOrders(packing: Packing, worth: Float64Array): number[][] {
  const by = (key: (amounts: Float64Array, row: number) => number) => {
    const keys = Float64Array.from(packing.rows, ({ amounts }, row) => key(amounts, row));
    return largestKeyFirst([...packing.rows.keys()], keys);
  };
  return [
    by((_, row) => worth[row] as number),
    by((amounts) => amounts[0] as number),
    by((amounts) => amounts[1] as number),
    by((amounts) => (amounts[0] as number) / ((amounts[1] as number) + 1)),
    by((amounts) => (amounts[1] as number) / ((amounts[0] as number) + 1)),
  ];
}
