import { expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { resourcePrices } from "./resource-prices.ts";

const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, one, at) => sum + one * (b[at] as number), 0);

/**
 * The optimum of a program of two variables, found by trying every corner: two limits, or a limit and an axis, meet
 * there.
 */
function bestCorner(
  objective: readonly number[],
  rows: readonly (readonly number[])[],
  limits: readonly number[],
): number {
  const lines = [...rows.map((row, at) => [...row, limits[at] as number]), [1, 0, 0], [0, 1, 0]];
  let best = 0;
  for (const [a = 0, b = 0, c = 0] of lines)
    for (const [d = 0, e = 0, f = 0] of lines) {
      const det = a * e - b * d;
      if (Math.abs(det) < 1e-9) continue;
      const x = [(c * e - b * f) / det, (a * f - c * d) / det];
      const isWithin = rows.every((row, at) => dot(row, x) <= (limits[at] as number) + 1e-9);
      if (isWithin && x.every((one) => one >= -1e-9)) best = Math.max(best, dot(objective, x));
    }
  return best;
}

/** The prices of two resources. `wanted`: what the items need of each. `bins`: what each kind of bin has of them. */
function pricesOf(
  wanted: readonly number[],
  bins: readonly (readonly number[])[],
  prices: readonly number[],
) {
  const packing = {
    dimensions: 2,
    rows: [{ amounts: Float64Array.from(wanted), count: 1 }],
    bins: bins.map((amounts, at) => ({
      amounts: Float64Array.from(amounts),
      price: prices[at] as number,
      rows: [0],
    })),
  };
  return resourcePrices(packing, [1]);
}

it("finds the highest prices at which no bin's content is worth more than the bin", () => {
  const random = new Random("simplex");
  for (let round = 0; round < 80; round++) {
    const numbers = (count: number) => Array.from({ length: count }, () => random.int(6));
    const count = 1 + random.int(4);
    // The last bin has both resources, so each resource has a highest price.
    const bins = [...Array.from({ length: count }, () => numbers(2)), [1, 1]];
    const binPrices = [...numbers(count), 1 + random.int(9)];
    const wanted = numbers(2);
    const { prices, leastCost } = pricesOf(wanted, bins, binPrices);
    const over = bins.filter((bin, at) => dot(bin, [...prices]) > (binPrices[at] as number) + 1e-5);
    expect(over).toEqual([]);
    expect(Math.min(...prices)).toBeGreaterThanOrEqual(0);
    expect(leastCost).toBeCloseTo(dot(wanted, [...prices]), 6);
    expect(leastCost).toBeCloseTo(bestCorner(wanted, bins, binPrices), 4);
  }
});

it("prices nothing if no bin has a resource that the items need", () => {
  expect(pricesOf([1, 1], [[1, 0]], [5])).toEqual({ prices: Float64Array.of(0, 0), leastCost: 0 });
});
