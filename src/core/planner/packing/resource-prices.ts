/**
 * What a unit of each resource is worth, so that no bin holds more worth than its price: the demand
 * at these prices is a proven least cost, and the prices tell which bin is a good buy.
 */
import type { Packing } from "./packing.ts";
import { maximise } from "./simplex.ts";

export interface ResourcePrices {
  /** By dimension. */
  readonly prices: Float64Array;
  /** What any packing costs at least. */
  readonly leastCost: number;
}

export function resourcePrices(packing: Packing, counts: ArrayLike<number>): ResourcePrices {
  const { dimensions, rows, bins } = packing;
  const demand = new Float64Array(dimensions);
  rows.forEach(({ amounts }, index) => {
    for (let d = 0; d < dimensions; d++) {
      demand[d] = (demand[d] as number) + (amounts[d] as number) * (counts[index] as number);
    }
  });
  const wanted = [...demand.keys()].filter((d) => (demand[d] as number) > 0);
  // In shares of the whole demand, so that bytes and cores are of a size.
  const table = bins.map(({ amounts }) =>
    wanted.map((d) => Math.max(0, (amounts[d] as number) / (demand[d] as number))),
  );
  const limits = bins.map(({ price }) => price);
  const shares = maximise(
    wanted.map(() => 1),
    table,
    limits,
  );
  const prices = new Float64Array(dimensions);
  if (shares === undefined) return { prices, leastCost: 0 };
  // Rounding may have left a price a hair too high: scaled down, it is a bound again.
  let over = 1;
  table.forEach((row, at) => {
    const worth = row.reduce((sum, share, d) => sum + share * (shares[d] as number), 0);
    if (worth > (limits[at] as number)) over = Math.max(over, worth / (limits[at] as number));
  });
  let leastCost = 0;
  wanted.forEach((d, at) => {
    const share = Math.max(0, shares[at] as number) / over;
    leastCost += share;
    prices[d] = share / (demand[d] as number);
  });
  return { prices, leastCost };
}
