import { expect, it } from "vitest";
import { maximise } from "./simplex.ts";

const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, one, at) => sum + one * (b[at] as number), 0);

// That it finds the optimum is tested in resource-prices.test.ts.

it("is undefined for an unbounded program, or with too few steps", () => {
  const unbounded = { rows: [[0, 1]], limits: [1] };
  expect(maximise({ objective: [1, 0], ...unbounded })).toBeUndefined();
  expect(maximise({ objective: [-1, 0], ...unbounded })).toEqual([0, 0]);
  const rows = [
    [1, 0],
    [0, 1],
  ];
  const both = { objective: [1, 1], rows, limits: [1, 1] };
  expect(maximise(both, 2)).toBeUndefined();
  expect(maximise(both, 3)).toEqual([1, 1]);
});

it("ends by Bland's rule where the steepest column would cycle", () => {
  // Beale's example, in which the simplex method may cycle: every step changes the objective by zero.
  const rows = [
    [0.25, -8, -1, 9],
    [0.5, -12, -0.5, 3],
    [0, 0, 1, 0],
  ];
  const objective = [0.75, -20, 0.5, -6];
  const x = maximise({ objective, rows, limits: [0, 0, 1] });
  expect(dot(objective, x ?? [0, 0, 0, 0])).toBeCloseTo(1.25, 6);
});
