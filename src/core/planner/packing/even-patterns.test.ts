import { describe, expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { atOnce } from "../../../base/steps.ts";
import { packEvenly } from "./even-patterns.ts";
import { packByGreed } from "./greedy-patterns.ts";
import { pack } from "./pack.ts";
import { type Packing, type PatternUse, packingPrice } from "./packing.ts";
import { resourcePrices } from "./resource-prices.ts";
import { fillingOrders } from "./row-orders.ts";

const KINDS = 25;
const UNLIMITED = { units: Number.POSITIVE_INFINITY };

/**
 * Half of the rows need mostly cpu, the other half mostly memory, in many sizes and with few items each. Together they
 * need eight units of memory for each core, as the cheapest bins have. Bins with less memory save little.
 */
function families(each: number): Packing {
  const rows = Array.from({ length: KINDS * 2 }, (_, index) => {
    const isCores = index < KINDS;
    const size = KINDS + (index % KINDS);
    const amounts = isCores
      ? Float64Array.of(10 * size, 10 * size)
      : Float64Array.of(4 * size, 60 * size);
    return { amounts, count: isCores ? Math.ceil(each / 10) : each };
  });
  const all = [...rows.keys()];
  const bins = [1_000, 2_000, 4_000, 8_000].flatMap((cores) => [
    { amounts: Float64Array.of(cores, cores * 2), price: cores * 26, rows: all },
    { amounts: Float64Array.of(cores, cores * 8), price: cores * 32, rows: all },
  ]);
  return { rows, bins, dimensions: 2 };
}

function evenly(packing: Packing, units = UNLIMITED.units): readonly PatternUse[] | undefined {
  const bins = [...packing.bins.keys()];
  return atOnce(
    packEvenly(
      packing,
      bins,
      packing.rows.map(({ count }) => count),
      { units },
    ),
  );
}

/** The number of items of each row in the bins. Throws if a bin holds more than it may. */
function placed({ rows, bins, dimensions }: Packing, uses: readonly PatternUse[]): number[] {
  const found = rows.map(() => 0);
  for (const { pattern, bins: count } of uses) {
    const bin = bins[pattern.bin];
    for (let d = 0; d < dimensions; d++) {
      const inside = pattern.rows.reduce(
        (sum, row, at) => sum + (rows[row]?.amounts[d] ?? 0) * (pattern.times[at] ?? 0),
        0,
      );
      if (inside > (bin?.amounts[d] ?? 0))
        throw new Error(`a bin of ${bin?.amounts[d]} holds ${inside}`);
    }
    pattern.rows.forEach((row, at) => {
      if ((pattern.times[at] ?? 0) > (rows[row]?.perBin ?? Number.POSITIVE_INFINITY))
        throw new Error(`too many of row ${row} in a bin`);
      if (bin?.rows.includes(row) !== true) throw new Error(`row ${row} may not go there`);
      found[row] = (found[row] ?? 0) + count * (pattern.times[at] ?? 0);
    });
  }
  return found;
}

describe("packing by even patterns", () => {
  it("is close to the lower bound where greedy filling wastes memory", () => {
    const packing = families(12);
    const counts = packing.rows.map(({ count }) => count);
    const { prices, leastCost } = resourcePrices(packing, counts);
    const values = Float64Array.from(
      packing.rows,
      ({ amounts }) => (amounts[0] ?? 0) * (prices[0] ?? 0) + (amounts[1] ?? 0) * (prices[1] ?? 0),
    );
    const byGreed = fillingOrders(packing, values).map((order) =>
      packingPrice(
        packing,
        atOnce(
          packByGreed({ packing, bins: [...packing.bins.keys()], counts, values }, order, {
            ...UNLIMITED,
          }),
        ) ?? [],
      ),
    );
    const uses = evenly(packing) ?? [];
    expect(placed(packing, uses)).toEqual(counts);
    expect(packingPrice(packing, uses)).toBeLessThan(leastCost * 1.04);
    expect(Math.min(...byGreed)).toBeGreaterThan(leastCost * 1.06);
  });

  it("costs less than 4 % above the lower bound with a budget of one unit", () => {
    const packing = families(12);
    const { leastCost } = resourcePrices(
      packing,
      packing.rows.map(({ count }) => count),
    );
    const uses = atOnce(
      pack(
        packing,
        resourcePrices(
          packing,
          packing.rows.map(({ count }) => count),
        ),
        { units: 1 },
        {},
      ),
    );
    expect(packingPrice(packing, uses ?? [])).toBeLessThan(leastCost * 1.04);
  });

  it("places every item once and respects all limits, on random inputs", () => {
    let found = 0;
    for (let seed = 0; seed < 300; seed++) {
      const packing = drawn(new Random(`even ${seed}`));
      const uses = evenly(packing);
      if (uses === undefined) continue;
      found++;
      expect(placed(packing, uses)).toEqual(packing.rows.map(({ count }) => count));
    }
    expect(found).toBeGreaterThan(50);
  });

  it("gives up if an item fits in no bin, or the budget is spent", () => {
    const packing = families(12);
    const large = { amounts: Float64Array.of(9_000, 1), count: 1 };
    const rows = [...packing.rows, large];
    expect(
      evenly({
        ...packing,
        rows,
        bins: packing.bins.map((bin) => ({ ...bin, rows: [...rows.keys()] })),
      }),
    ).toBeUndefined();
    expect(evenly(packing, 100)).toBeUndefined();
  });

  it("gives up if the cost is more than a quarter above the lower bound", () => {
    // Each bin holds one item, and no other item fits into the rest of the bin.
    const ofSize = (amount: number) => {
      const rows = [{ amounts: Float64Array.of(amount), count: 100 }];
      const bins = [{ amounts: Float64Array.of(100), price: 100, rows: [0] }];
      return { rows, bins, dimensions: 1 };
    };
    expect(evenly(ofSize(79))).toBeUndefined();
    expect(placed(ofSize(81), evenly(ofSize(81)) ?? [])).toEqual([100]);
  });

  it("gives up if all bins are free of charge", () => {
    const rows = [{ amounts: Float64Array.of(3), count: 50 }];
    const free = { amounts: Float64Array.of(10), price: 0, rows: [0] };
    const small = { amounts: Float64Array.of(1), price: 0, rows: [] };
    expect(evenly({ rows, bins: [free, small], dimensions: 1 })).toBeUndefined();
  });
});

/** A random packing problem: some rows have a limit for each bin, and some kinds of bins may hold all rows. */
function drawn(random: Random): Packing {
  const upTo = (most: number) => 1 + Math.floor(random.fraction() * most);
  const rows = Array.from({ length: upTo(8) }, () => ({
    amounts: Float64Array.of(upTo(20), upTo(20), Math.floor(random.fraction() * 2)),
    count: upTo(40),
    ...(random.fraction() < 0.3 ? { perBin: upTo(3) } : {}),
  }));
  const all = [...rows.keys()];
  const bins = Array.from({ length: upTo(6) }, (_, index) => {
    const size = Float64Array.of(20 + upTo(80), 20 + upTo(80), upTo(30));
    return {
      amounts: size,
      price: 10 + (size[0] ?? 0) + (size[1] ?? 0),
      rows: index > 0 && random.fraction() < 0.3 ? all.slice(0, upTo(all.length)) : all,
    };
  });
  return { rows, bins, dimensions: 3 };
}
