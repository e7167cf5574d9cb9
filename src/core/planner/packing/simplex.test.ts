import { describe, expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { maximise } from "./simplex.ts";

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

describe("maximise", () => {
  it("finds the highest value of the objective within all limits", () => {
    const random = new Random("simplex");
    for (let round = 0; round < 80; round++) {
      const numbers = (count: number) => Array.from({ length: count }, () => random.int(6));
      const count = 1 + random.int(4);
      const rows = Array.from({ length: count }, () => numbers(2));
      // A limit for the sum of both variables, so that the program is bounded.
      rows.push([1, 1]);
      const limits = [...numbers(count), 1 + random.int(9)];
      const objective = numbers(2);
      const x = maximise(objective, rows, limits);
      if (x === undefined) throw new Error("a bounded program has a solution");
      const over = rows.filter((row, at) => dot(row, x) > (limits[at] as number) + 1e-9);
      expect(over).toEqual([]);
      expect(Math.min(...x)).toBeGreaterThanOrEqual(-1e-9);
      expect(dot(objective, x)).toBeCloseTo(bestCorner(objective, rows, limits), 6);
    }
  });

  it("is undefined for an unbounded program, or with too few steps", () => {
    expect(maximise([1, 0], [[0, 1]], [1])).toBeUndefined();
    expect(
      maximise(
        [1, 1],
        [
          [1, 0],
          [0, 1],
        ],
        [1, 1],
        2,
      ),
    ).toBeUndefined();
    expect(
      maximise(
        [1, 1],
        [
          [1, 0],
          [0, 1],
        ],
        [1, 1],
        3,
      ),
    ).toEqual([1, 1]);
    expect(maximise([-1, 0], [[0, 1]], [1])).toEqual([0, 0]);
  });

  it("ends by Bland's rule where the steepest column would cycle", () => {
    // Beale's example, in which the simplex method may cycle: every step changes the objective by zero.
    const rows = [
      [0.25, -8, -1, 9],
      [0.5, -12, -0.5, 3],
      [0, 0, 1, 0],
    ];
    const x = maximise([0.75, -20, 0.5, -6], rows, [0, 0, 1]);
    expect(dot([0.75, -20, 0.5, -6], x ?? [0, 0, 0, 0])).toBeCloseTo(1.25, 6);
  });
});
