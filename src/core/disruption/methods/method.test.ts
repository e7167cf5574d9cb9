import { describe, expect, it } from "vitest";
import { pods } from "../../../testing/builders.ts";
import type { Candidate } from "../candidates.ts";
import { inCommands, inRuns } from "./method.ts";

const withPods = (...counts: readonly number[]) =>
  counts.map((count) => ({ reschedulablePods: pods(count) }) as unknown as Candidate);

describe("candidates of a method", () => {
  it("are simulated in runs that end with the candidate that reaches the number of pods", () => {
    const runs = (...counts: readonly number[]) =>
      [...inRuns(withPods(...counts), 4)].map((run) =>
        run.map(({ reschedulablePods }) => reschedulablePods.length),
      );
    expect(runs()).toEqual([]);
    expect(runs(1, 0, 9, 0, 3, 2)).toEqual([[1, 0, 9], [0, 3], [2]]);
    expect(runs(1, 1)).toEqual([[1, 1]]);
    // In a run, each candidate counts as one pod more than it has.
    const lengths = [62, 63].map((count) =>
      [...inRuns(withPods(count, 0, 0))].map((run) => run.length),
    );
    expect(lengths).toEqual([
      [2, 1],
      [1, 2],
    ]);
  });

  it("are split into commands of at most 500 nodes", () => {
    const lengths = (count: number) =>
      inCommands(withPods(...Array(count).fill(0))).map((one) => one.length);
    expect([lengths(0), lengths(500), lengths(501)]).toEqual([[], [500], [500, 1]]);
  });
});
