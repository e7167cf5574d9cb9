/**
 * Dual prices of resources: a price for one unit of each dimension (resource), such that no bin's content is worth more
 * than the bin costs. So all items together, at these prices, are a lower bound on the price of every packing.
 */
import { type Packing, totalAmounts } from "./packing.ts";
import { maximise } from "./simplex.ts";

export interface ResourcePrices {
  readonly prices: Float64Array;
  /** The lower bound on the price of every packing. */
  readonly leastCost: number;
}

/** The dual prices for these items. `counts`: for each row, the number of items to pack. */
export function resourcePrices(packing: Packing, counts: ArrayLike<number>): ResourcePrices {
  const { dimensions, bins } = packing;
  const demand = totalAmounts(packing, counts);
  const wanted = [...demand.keys()].filter((d) => (demand[d] as number) > 0);
  // Amounts become shares of the demand: bytes and cores are then of similar size, so the simplex method rounds less.
  const table = bins.map(({ amounts }) =>
    wanted.map((d) => Math.max(0, (amounts[d] as number) / (demand[d] as number))),
  );
  const limits = bins.map(({ price }) => price);
  const shares = maximise({ objective: wanted.map(() => 1), rows: table, limits });
  const prices = new Float64Array(dimensions);
  if (shares === undefined) return { prices, leastCost: 0 };
  // Rounding may make a bin worth slightly more than its price. Then prices are scaled down, so that the bound holds.
  let over = 1;
  table.forEach((row, at) => {
    const value = row.reduce((sum, share, d) => sum + share * (shares[d] as number), 0);
    if (value > (limits[at] as number)) over = Math.max(over, value / (limits[at] as number));
  });
  let leastCost = 0;
  wanted.forEach((d, at) => {
    const share = Math.max(0, shares[at] as number) / over;
    leastCost += share;
    prices[d] = share / (demand[d] as number);
  });
  return { prices, leastCost };
}
