import { describe, expect, it } from "vitest";
import { mergeBins } from "./merge-bins.ts";
import type { Packing } from "./packing.ts";

/** Items of one resource, with sizes 2 and 3, and bins of sizes 4, 6 and 8. */
function packing(prices: readonly [number, number, number]): Packing {
  const amounts = (amount: number) => Float64Array.of(amount);
  const [small, middle, large] = prices;
  return {
    rows: [
      { amounts: amounts(2), count: 9 },
      { amounts: amounts(3), count: 9 },
    ],
    bins: [
      { amounts: amounts(4), price: small, rows: [0, 1] },
      { amounts: amounts(6), price: middle, rows: [0, 1] },
      { amounts: amounts(8), price: large, rows: [0] },
    ],
    dimensions: 1,
  };
}

const twos = { pattern: { bin: 0, rows: [0], times: [1] }, bins: 1 };
const threes = { pattern: { bin: 0, rows: [1], times: [1] }, bins: 3 };

describe("mergeBins", () => {
  it("merges two bins into one if that costs no more", () => {
    expect(mergeBins(packing([10, 20, 30]), [twos, threes])).toEqual([
      { pattern: { bin: 1, rows: [0, 1], times: [1, 1] }, bins: 1 },
      { ...threes, bins: 2 },
    ]);
  });

  it("keeps two bins if one would cost more, or may not hold both contents", () => {
    for (const prices of [
      [10, 21, 30],
      [10, 21, 15],
    ] as const)
      expect(mergeBins(packing(prices), [twos, threes])).toEqual([twos, threes]);
  });

  it("keeps two bins that together would exceed the number of items per bin", () => {
    const { rows, ...rest } = packing([10, 20, 5]);
    const limited = { ...rest, rows: rows.map((row) => ({ ...row, perBin: 1 })) };
    const both = { pattern: { bin: 0, rows: [0], times: [1] }, bins: 1 };
    const more = { pattern: { bin: 0, rows: [0], times: [1] }, bins: 1 };
    expect(mergeBins({ ...rest, rows }, [both, more])).not.toEqual([both, more]);
    expect(mergeBins(limited, [both, more])).toEqual([both, more]);
  });
});
