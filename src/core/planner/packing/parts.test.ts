// Rows of different zones: each zone is a packing of its own.
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { pack } from "./pack.ts";
import { type Packing, packingPrice } from "./packing.ts";
import { partsOf } from "./parts.ts";
import { resourcePrices } from "./resource-prices.ts";

const row = (cpu: number, count: number) => ({
  amounts: Float64Array.of(cpu, cpu),
  count,
});

/** Rows 0 and 2 may share a bin, and so may rows 1 and 3. With `both`, a bin may hold all four rows. */
function zones(both = false): Packing {
  const rows = [row(3, 4), row(1, 6), row(2, 4), row(5, 2)];
  const bin = (size: number, list: readonly number[]) => ({
    amounts: Float64Array.of(size, size),
    price: size * 10,
    rows: list,
  });
  const [a, b] = [
    [0, 2],
    [1, 3],
  ];
  const bins = [bin(5, a as number[]), bin(10, b as number[]), bin(6, b as number[])];
  if (both) bins.push(bin(12, [0, 1, 2, 3]));
  return { rows, bins, dimensions: 2 };
}

describe("independent parts of a packing", () => {
  it("are rows that share bins with each other only, and these bins", () => {
    const [a, b] = partsOf(zones());
    expect(a?.packing.rows).toEqual([row(3, 4), row(2, 4)]);
    expect(a?.packing.bins.map(({ rows }) => rows)).toEqual([[0, 1]]);
    expect(a?.count).toBe(8);
    expect(b?.packing.bins.map(({ price, rows }) => [price, rows])).toEqual([
      [100, [0, 1]],
      [60, [0, 1]],
    ]);
    const pattern = { bin: 1, rows: [0, 1], times: [1, 1] };
    expect(b?.inWhole([{ pattern, bins: 2 }])).toEqual([
      { pattern: { bin: 2, rows: [1, 3], times: [1, 1] }, bins: 2 },
    ]);
  });

  it("are the packing itself if one bin takes all rows", () => {
    const whole = zones(true);
    expect(partsOf(whole).map(({ packing }) => packing)).toEqual([whole]);
  });

  it("are packed separately within one budget, every item once", () => {
    const whole = zones();
    const worth = resourcePrices(whole, [4, 6, 4, 2]);
    const budget = { units: 100_000 };
    const uses = atOnce(pack(whole, worth, budget, {})) ?? [];
    const packed = [0, 0, 0, 0];
    for (const { pattern, bins } of uses)
      pattern.rows.forEach((index, at) => {
        packed[index] = (packed[index] ?? 0) + bins * (pattern.times[at] ?? 0);
      });
    expect(packed).toEqual([4, 6, 4, 2]);
    // No bin has unused room: four bins hold 3 and 2, one holds 5 and 5, and one holds six items of size 1.
    expect(packingPrice(whole, uses)).toBe(4 * 50 + 100 + 60);
    expect(budget.units).toBeLessThan(100_000);
  });

  it("respect the number of items per bin", () => {
    const { rows, ...rest } = zones();
    const whole = { ...rest, rows: rows.map((one) => ({ ...one, perBin: 1 })) };
    const worth = resourcePrices(whole, [4, 6, 4, 2]);
    const uses = atOnce(pack(whole, worth, { units: 100_000 }, {})) ?? [];
    for (const { pattern } of uses) expect(Math.max(...pattern.times)).toBe(1);
    // The six items of size 1 take six bins, although one bin has room for all.
    expect(packingPrice(whole, uses)).toBe(4 * 50 + 6 * 60);
  });

  it("pack every item once even if one part has hundreds of rows", () => {
    const rows = Array.from({ length: 400 }, (_, index) => ({
      amounts: Float64Array.of(1 + (index % 7), 1 + (index % 5)),
      count: 1 + (index % 3),
    }));
    const bin = (size: number) => ({
      amounts: Float64Array.of(size, size),
      price: size * 10,
      rows: rows.map((_, index) => index),
    });
    const whole = { rows, bins: [bin(16), bin(64)], dimensions: 2 };
    const counts = rows.map(({ count }) => count);
    const worth = resourcePrices(whole, counts);
    const uses = atOnce(pack(whole, worth, { units: 500_000 }, {})) ?? [];
    const packed = rows.map(() => 0);
    for (const { pattern, bins } of uses) {
      const inBin = Float64Array.of(0, 0);
      pattern.rows.forEach((index, at) => {
        const times = pattern.times[at] as number;
        packed[index] = (packed[index] as number) + bins * times;
        for (const d of [0, 1])
          inBin[d] = (inBin[d] as number) + times * (rows[index]?.amounts[d] as number);
      });
      expect(Math.max(...inBin)).toBeLessThanOrEqual(whole.bins[pattern.bin]?.amounts[0] as number);
    }
    expect(packed).toEqual(counts);
  });
});
