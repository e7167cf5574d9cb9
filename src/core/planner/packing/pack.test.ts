import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { BinFiller } from "./bin-filler.ts";
import { packEvenly } from "./even-patterns.ts";
import { pack } from "./pack.ts";
import { type Packing, type PatternUse, packingPrice } from "./packing.ts";
import { resourcePrices } from "./resource-prices.ts";

const SHAPES = 60;
const EACH = 3;

/** Many shapes with few items each. A bin holds about six items. */
function packingOf(shapes: number, each: number): Packing {
  return {
    rows: Array.from({ length: shapes }, (_, index) => ({
      amounts: Float64Array.of(20 + (index % SHAPES) + index / shapes),
      count: each,
    })),
    bins: [150, 300, 600].map((size) => ({
      amounts: Float64Array.of(size),
      price: size,
      rows: Array.from({ length: shapes }, (_, index) => index),
    })),
    dimensions: 1,
  };
}

const packing = packingOf(SHAPES, EACH);
const prices = { prices: Float64Array.of(1), leastCost: 0 };

function packed(units: number): readonly PatternUse[] | undefined {
  return atOnce(pack(packing, prices, { units }, {}));
}

describe("a bin filler", () => {
  it("ignores items that are larger than the bin, without overflow", () => {
    const rows = [2 ** 32, 1].map((amount) => ({ amounts: Float64Array.of(amount), count: 5 }));
    const bin = { amounts: Float64Array.of(3), price: 1, rows: [0, 1] };
    const filling = BinFiller.of({ rows, bins: [bin], dimensions: 1 });
    filling.fill(bin, [0, 1], [5, 5], Float64Array.of(1, 1));
    expect(filling.content(0)).toEqual({ bin: 0, rows: [1], times: [3] });
  });
});

describe("pack", () => {
  it("opens no bins and uses no budget if there are no items", () => {
    const budget = { units: 100 };
    expect(atOnce(pack(packingOf(2, 0), prices, budget, {}))).toEqual([]);
    expect(budget.units).toBe(100);
  });

  it("packs all items greedily even if the budget is too small for any search", () => {
    const found = packed(1);
    const items = (found ?? []).flatMap(({ pattern: { times }, bins }) =>
      times.map((count) => count * bins),
    );
    expect(items.reduce((sum, count) => sum + count, 0)).toBe(SHAPES * EACH);
  });

  it("yields to other work after each order of filling", () => {
    const steps = pack(packingOf(1_000, 3), prices, { units: 1 }, {});
    let turns = 1;
    while (steps.next().done !== true) turns++;
    // One step for each order of filling, and one at the end. More than that means that the first filling yielded, too.
    expect(turns).toBeGreaterThan(6);
  });

  it("skips even patterns if items are limited for each host", () => {
    const unitsFor = (count: number, perHost: number, hostDimensions: number) => {
      // Half of the items also take one unit of a second dimension.
      const rows = [1, 0].map((apart) => ({ amounts: Float64Array.of(10, apart), count }));
      const bins = [{ amounts: Float64Array.of(40, perHost), price: 40, rows: [0, 1] }];
      const budget = { units: 1e7 };
      const ofBoth = { prices: Float64Array.of(1, 0), leastCost: 0 };
      const uses = atOnce(pack({ rows, bins, dimensions: 2, hostDimensions }, ofBoth, budget, {}));
      expect(packingPrice({ rows, bins, dimensions: 2 }, uses ?? [])).toBe(count * 20);
      return 1e7 - budget.units;
    };
    expect(unitsFor(400, 2, 1) * 2).toBeLessThan(unitsFor(400, 2, 0));
  });

  it("stops early if even patterns cost at most one percent more than the lower bound", () => {
    const found = (smallest: number) => {
      const rows = Array.from({ length: 20 }, (_, index) => ({
        amounts: Float64Array.of(smallest + index * 7),
        count: 40,
      }));
      const bin = { amounts: Float64Array.of(1_000), price: 1_000, rows: [...rows.keys()] };
      const all = { rows, bins: [bin], dimensions: 1 };
      const counts = rows.map(({ count }) => count);
      const priced = resourcePrices(all, counts);
      const over = (uses: readonly PatternUse[] | undefined) =>
        packingPrice(all, uses ?? []) / priced.leastCost;
      const budget = { units: 1e8 };
      const alike = over(atOnce(packEvenly(all, [0], counts, { ...budget })));
      const best = over(atOnce(pack(all, priced, budget, {})));
      return { alike, best, spent: 1e8 - budget.units };
    };
    const [near, far] = [found(100), found(60)];
    expect(near.alike).toBeLessThan(1.01);
    expect(near.best).toBe(near.alike);
    // Even with such a large budget, the search takes hardly more steps than even patterns need.
    expect(near.spent).toBeLessThan(20_000);
    expect(far.alike).toBeGreaterThan(1.01);
    expect(far.best).toBeLessThan(far.alike - 0.005);
    expect(far.spent).toBeGreaterThan(near.spent * 10);
  });

  it("packs all items if the patterns hold more of a row than there is", () => {
    // If the budget ends early, the row has a dual price of zero or less. Greedy filling must still fill bins with this
    // row alone.
    const shapes = [1, 2, 4].flatMap((cpu) =>
      [1, 4, 16, 40].flatMap((memory) => [0, 1].map((apart) => [cpu, memory, apart])),
    );
    const rows = shapes.map((amounts, index) => ({
      amounts: Float64Array.from(amounts),
      count: 1 + ((index * index * 7 + index) % 11),
    }));
    const bins = Array.from({ length: 12 }, (_, index) => ({
      amounts: Float64Array.of(10 * (index + 1), 20 * (index + 1), 1),
      price: 10 * (index + 1) + 3,
      rows: [...rows.keys()],
    }));
    const mixed: Packing = { rows, bins, dimensions: 3, hostDimensions: 1 };
    const counts = rows.map(({ count }) => count);
    const uses = atOnce(
      pack(mixed, resourcePrices(mixed, counts), { units: 30_000 }, {}),
    ) as readonly PatternUse[];
    const packedOf = new Array<number>(rows.length).fill(0);
    for (const { pattern, bins: times } of uses)
      pattern.rows.forEach((row, at) => {
        packedOf[row] = (packedOf[row] as number) + times * (pattern.times[at] as number);
      });
    expect(packedOf).toEqual(counts);
    // Greedy filling alone costs 1,455.
    expect(packingPrice(mixed, uses)).toBeLessThan(1_400);
  });

  it("packs all items if such a row has a dual price of zero", () => {
    const mixed: Packing = {
      rows: [
        [9, 4, 0, 6],
        [8, 3, 1, 4],
        [4, 6, 1, 4],
        [10, 11, 1, 6],
        [2, 12, 0, 4],
        [7, 8, 0, 4],
      ].map(([cpu = 0, memory = 0, apart = 0, count = 0]) => ({
        amounts: Float64Array.of(cpu, memory, apart),
        count,
      })),
      bins: [{ amounts: Float64Array.of(18, 17, 1), price: 17, rows: [0, 1, 2, 3, 4, 5] }],
      dimensions: 3,
      hostDimensions: 1,
    };
    const counts = mixed.rows.map(({ count }) => count);
    const steps = pack(mixed, resourcePrices(mixed, counts), { units: 100 }, {});
    // Greedy filling alone needs one more bin.
    expect(packingPrice(mixed, atOnce(steps) ?? [])).toBe(18 * 17);
  });

  it("tries more filling orders by dual prices if allowed, and finds a cheaper packing", () => {
    const shapes = [
      [1, 1, 1],
      [13, 17, 5],
      [13, 9, 9],
      [1, 23, 4],
    ];
    const mixed: Packing = {
      rows: shapes.map(([cpu = 0, memory = 0, count = 0]) => ({
        amounts: Float64Array.of(cpu, memory),
        count,
      })),
      bins: [20, 40, 60].map((size) => ({
        amounts: Float64Array.of(size, 2 * size),
        price: size + 3,
        rows: [...shapes.keys()],
      })),
      dimensions: 2,
    };
    const counts = mixed.rows.map(({ count }) => count);
    const priceIn = (dualPriceOrders?: number) => {
      const options = {
        ...(dualPriceOrders === undefined ? {} : { dualPriceOrders }),
      };
      const steps = pack(mixed, resourcePrices(mixed, counts), { units: 300 }, options);
      return packingPrice(mixed, atOnce(steps) ?? []);
    };
    expect([priceIn(), priceIn(1), priceIn(2)]).toEqual([215, 215, 212]);
  });

  it("never costs more with a larger budget", () => {
    const [short, long] = [packed(1), packed(2e5)];
    expect(packingPrice(packing, long ?? [])).toBeLessThanOrEqual(
      packingPrice(packing, short ?? []),
    );
  });
});
