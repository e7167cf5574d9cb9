import { describe, expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { atOnce } from "../../../base/steps.ts";
import { packByGreed } from "./greedy-patterns.ts";
import { type Packing, type PatternUse, packingPrice } from "./packing.ts";
import { resourcePrices } from "./resource-prices.ts";
import { reweightedGreedy } from "./reweighted-greedy.ts";
import { fillingOrders } from "./row-orders.ts";

const ENDLESS = { units: Number.POSITIVE_INFINITY };

/**
 * Pods of many shapes. A fifth of them must not share a host: each takes 1 of the last dimension, and each bin has 1.
 */
function mixed(seed: number): Packing {
  const random = new Random(seed);
  const rows = Array.from({ length: 40 }, (_, at) => ({
    amounts: Float64Array.of(1 + random.int(16), 1 + random.int(40), at % 5 === 0 ? 1 : 0),
    count: 5 + random.int(20),
  }));
  const all = [...rows.keys()];
  const bins = [10, 20, 30, 40, 60, 80, 120].map((size) => ({
    amounts: Float64Array.of(size, 2 * size, 1),
    price: 1_000 * size,
    rows: all,
  }));
  return { rows, bins, dimensions: 3, hostDimensions: 1 };
}

/** The best solution of greedy filling in five orders. */
function greedy(packing: Packing) {
  const bins = [...packing.bins.keys()];
  const counts = packing.rows.map(({ count }) => count);
  const { prices } = resourcePrices(packing, counts);
  const values = Float64Array.from(packing.rows, ({ amounts }) =>
    amounts.reduce((sum, amount, d) => sum + amount * (prices[d] as number), 0),
  );
  const known = fillingOrders(packing, values).flatMap((order) => {
    const uses = atOnce(packByGreed({ packing, bins, counts, values }, order, { ...ENDLESS }));
    return uses === undefined ? [] : [uses];
  });
  const [best] = known.toSorted((a, b) => packingPrice(packing, a) - packingPrice(packing, b));
  return { values, bins, counts, known, best: best as readonly PatternUse[] };
}

function roundsOf(packing: Packing, budget = { ...ENDLESS }) {
  const { known, best, ...greed } = greedy(packing);
  return atOnce(reweightedGreedy({ packing, ...greed }, known, best, budget));
}

describe("reweighted greedy", () => {
  it("places every item once, into bins with room for them", () => {
    for (let seed = 0; seed < 20; seed++) {
      const packing = mixed(seed);
      for (const uses of roundsOf(packing)) {
        const taken = packing.rows.map(() => 0);
        for (const { pattern, bins } of uses) {
          const used = new Float64Array(packing.dimensions);
          pattern.rows.forEach((row, at) => {
            const times = pattern.times[at] as number;
            taken[row] = (taken[row] as number) + times * bins;
            packing.rows[row]?.amounts.forEach((amount, d) => {
              used[d] = (used[d] as number) + amount * times;
            });
          });
          const room = packing.bins[pattern.bin]?.amounts ?? [];
          expect([...used].every((amount, d) => amount <= (room[d] as number))).toBe(true);
        }
        expect(taken).toEqual(packing.rows.map(({ count }) => count));
      }
    }
  });

  it("is mostly cheaper than greedy filling in all five orders", () => {
    const ratios = Array.from({ length: 20 }, (_, seed) => {
      const packing = mixed(seed);
      const prices = roundsOf(packing).map((uses) => packingPrice(packing, uses));
      return Math.min(...prices) / packingPrice(packing, greedy(packing).best);
    });
    expect(ratios.filter((ratio) => ratio < 1).length).toBeGreaterThan(15);
    expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).toBeLessThan(0.98);
  });

  it("stops when its budget is used up", () => {
    const packing = mixed(1);
    const all = roundsOf(packing).length;
    const some = roundsOf(packing, { units: 20_000 }).length;
    expect(all).toBe(16);
    expect(some).toBeGreaterThan(0);
    expect(some).toBeLessThan(all);
    expect(roundsOf(packing, { units: 0 })).toEqual([]);
  });
});
