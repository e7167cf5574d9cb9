/**
 * Patterns by greed: of all bins, filled in some fixed order, the one that holds most worth for its
 * price, as often as the items last; then anew with what is left.
 */
import { type Bin, type Budget, fill, largestKeyFirst, type Packing, type Use } from "./packing.ts";

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
  const scratch = new Float64Array(packing.dimensions);
  const uses: Use[] = [];
  let rest = left.reduce((sum, count) => sum + count, 0);
  const orders = among.map((index) => {
    const bin = packing.bins[index] as Bin;
    if (bin.rows.length === packing.rows.length) return order;
    const allowed = new Set(bin.rows);
    return order.filter((row) => allowed.has(row));
  });
  while (rest > 0) {
    let best: { bin: number; rows: number[]; times: number[] } | undefined;
    let most = 0;
    for (let at = 0; at < among.length; at++) {
      const index = among[at] as number;
      const bin = packing.bins[index] as Bin;
      const list = orders[at] as readonly number[];
      budget.units -= list.length;
      const filled = fill(packing, bin, list, left, scratch);
      let value = 0;
      for (let item = 0; item < filled.rows.length; item++) {
        value += (worth[filled.rows[item] as number] as number) * (filled.times[item] as number);
      }
      if (value / bin.price > most * (1 + 1e-12)) {
        most = value / bin.price;
        best = { bin: index, ...filled };
      }
    }
    if (best === undefined || budget.units <= 0) return undefined;
    let bins = Number.POSITIVE_INFINITY;
    best.rows.forEach((row, at) => {
      bins = Math.min(bins, Math.floor((left[row] as number) / ((best?.times[at] ?? 1) as number)));
    });
    best.rows.forEach((row, at) => {
      const gone = (best?.times[at] ?? 0) * bins;
      left[row] = (left[row] as number) - gone;
      rest -= gone;
    });
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
