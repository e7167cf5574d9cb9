import { describe, expect, it } from "vitest";
import { LinearProgram } from "./linear-program.ts";
import { packingPrice } from "./packing.ts";

/** A packing with rows of these sizes and counts. A bin has room for size 10 and may hold items of all rows. */
function packingOf(rows: readonly (readonly [size: number, count: number])[], prices = [1]) {
  const all = rows.map((_, index) => index);
  return {
    dimensions: 1,
    rows: rows.map(([size, count]) => ({ amounts: Float64Array.of(size), count })),
    bins: prices.map((price) => ({ amounts: Float64Array.of(10), price, rows: all })),
  };
}

function start(packing: ReturnType<typeof packingOf>) {
  const rows = packing.rows.map((_, index) => index);
  const counts = packing.rows.map(({ count }) => count);
  const bins = packing.bins.map((_, index) => index);
  return LinearProgram.start(packing, bins, rows, counts) as LinearProgram;
}

/** A column of one bin with `times[row]` items of each row. */
const column = (times: readonly number[], price = 1) => {
  const rows = times.flatMap((count, row) => (count > 0 ? [row] : []));
  return { pattern: { bin: 0, rows, times: times.filter((count) => count > 0) }, price };
};
const WORK = { units: 1_000 };

/** The mix as text: `row×times … = bins` for each of its patterns. */
const mixOf = (program: LinearProgram) =>
  program
    .mix()
    .columns.map(
      ({ pattern: { rows, times }, bins }) =>
        `${rows.map((row, at) => `${row}×${times[at]}`).join(" ")} = ${bins.toFixed(3)}`,
    )
    .sort();

const near = (program: LinearProgram) =>
  [program.price, ...program.dualPrices].map((value) => Number(value.toFixed(6)) + 0);

describe("the linear program of a packing", () => {
  it("starts with each row alone in its cheapest bins", () => {
    const packing = packingOf([
      [3, 9],
      [7, 6],
    ]);
    const program = start(packing);
    expect(mixOf(program)).toEqual(["0×3 = 3.000", "1×1 = 6.000"]);
    expect(near(program)).toEqual([9, 0.333333, 1]);
    const twoKinds = start(packingOf([[3, 9]], [2, 1]));
    expect(twoKinds.mix().columns.map(({ pattern }) => pattern.bin)).toEqual([1]);
    expect(packingPrice(packing, program.mix().columns)).toBe(9);
  });

  it("does not start if a row fits in no bin", () => {
    const packing = packingOf([
      [3, 9],
      [11, 1],
    ]);
    expect(start(packing)).toBeUndefined();
  });

  it("adds patterns until the price is minimal, and has the dual price of each row", () => {
    const program = start(
      packingOf([
        [3, 9],
        [7, 6],
      ]),
    );
    expect(program.improve([column([1, 1])], { ...WORK })).toBe(true);
    expect(mixOf(program)).toEqual(["0×1 1×1 = 6.000", "0×3 = 1.000"]);
    expect(near(program)).toEqual([7, 0.333333, 0.666667]);
    expect(program.improve([column([1, 1])], { ...WORK })).toBe(false);
  });

  it("combines patterns that share rows", () => {
    const counts = [
      [6, 2],
      [6, 2],
      [6, 2],
    ] as const;
    const program = start(packingOf(counts));
    const pairs = [column([1, 1, 0]), column([0, 1, 1]), column([1, 0, 1])];
    program.improve(pairs, { ...WORK });
    expect(mixOf(program)).toEqual(["0×1 1×1 = 1.000", "0×1 2×1 = 1.000", "1×1 2×1 = 1.000"]);
    expect(near(program)).toEqual([3, 0.5, 0.5, 0.5]);
  });

  it("may pack more items of a row than there are if that is cheaper", () => {
    const program = start(
      packingOf([
        [3, 3],
        [7, 6],
      ]),
    );
    program.improve([column([1, 1], 0.9)], { ...WORK });
    expect(mixOf(program)).toEqual(["0×1 1×1 = 6.000"]);
    expect(near(program)).toEqual([5.4, 0, 0.9]);
  });

  it("does not change if the budget is zero", () => {
    const program = start(
      packingOf([
        [3, 9],
        [7, 6],
      ]),
    );
    expect(program.improve([column([1, 1])], { units: 0 })).toBe(false);
    expect(program.price).toBe(9);
  });
});
