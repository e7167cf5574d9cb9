/**
 * Dual prices of resources: a price for one unit of each dimension (resource), such that no bin's content is worth more
 * than the bin costs. So all items together, at these prices, are a lower bound on the price of every packing.
 */
import type { PatternColumn } from "./column-list.ts";
import { LinearProgram } from "./linear-program.ts";
import { contentValue, type Packing, totalAmounts } from "./packing.ts";

export interface ResourcePrices {
  readonly prices: Float64Array;
  /** The lower bound on the price of every packing. */
  readonly leastCost: number;
}

/** The dual prices for these items. `counts`: for each row, the number of items to pack. */
export function resourcePrices(packing: Packing, counts: ArrayLike<number>): ResourcePrices {
  const { dimensions, bins } = packing;
  const demand = totalAmounts(packing, counts);
  const isFree = (d: number) =>
    bins.some(({ amounts, price }) => price <= 0 && (amounts[d] as number) > 0);
  const wanted = [...demand.keys()].filter((d) => (demand[d] as number) > 0 && !isFree(d));
  // Amounts become shares of the demand: bytes and cores are then of similar size, so the simplex method rounds less.
  const columns = bins.map(({ amounts, price }, bin): PatternColumn => {
    const rows = wanted.filter((d) => (amounts[d] as number) > 0);
    const times = rows.map((d) => (amounts[d] as number) / (demand[d] as number));
    return { pattern: { bin, rows, times }, price };
  });
  const prices = new Float64Array(dimensions);
  const basis = wanted.flatMap((d) => cheapestAlone(columns, d) ?? []);
  // Some dimension is in no bin, so there is no packing.
  if (basis.length < wanted.length) return { prices, leastCost: 0 };
  const program = new LinearProgram(wanted, basis, new Float64Array(dimensions).fill(1));
  program.improve(columns, { units: Number.POSITIVE_INFINITY });
  // Rounding, and a search that is cut short, may leave negative prices, or a bin worth more than its price. Negative
  // ones become zero, then all are scaled down. So the bound holds in any case.
  const dualPrices = program.dualPrices.map((one) => Math.max(0, one));
  let over = 1;
  for (const { pattern, price } of columns) {
    const value = contentValue(pattern, dualPrices);
    if (value > price) over = Math.max(over, value / price);
  }
  let leastCost = 0;
  for (const d of wanted) {
    const share = (dualPrices[d] as number) / over;
    leastCost += share;
    prices[d] = share / (demand[d] as number);
  }
  return { prices, leastCost };
}

/** The bin that holds this dimension for the lowest price, with this dimension only. Undefined: no bin holds any. */
function cheapestAlone(columns: readonly PatternColumn[], d: number): PatternColumn | undefined {
  let best: PatternColumn | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const { pattern, price } of columns) {
    const share = pattern.times[pattern.rows.indexOf(d)] ?? 0;
    if (share === 0 || price / share >= least) continue;
    least = price / share;
    best = { pattern: { bin: pattern.bin, rows: [d], times: [share] }, price };
  }
  return best;
}
