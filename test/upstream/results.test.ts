/** The record of results: the last result of a spec on a target counts. */
import { describe, expect, it } from "vitest";
import type { Outcome } from "./report.ts";
import { resultOf, withOutcomes } from "./results.ts";

const outcome = (name: string, state: Outcome["state"]): Outcome => ({
  name,
  state,
  seconds: 1,
  message: "",
});
const ABOUT = { suite: "disruption", target: "sandbox", on: "2026-01-01", commit: "a1" } as const;
const FIRST = withOutcomes({ specs: {}, runs: [] }, ABOUT, [
  outcome("Drift works", "failed"),
  outcome("Drift breaks", "passed"),
  outcome("Drift lacks", "skipped"),
  outcome("Drift waits", "notRun"),
]);
const at = (spec: string, target: "sandbox" | "cluster" = "sandbox") => ({
  suite: ABOUT.suite,
  target,
  spec,
});

describe("results of upstream's suites", () => {
  it("have every spec of the suite, and no result for those out of focus", () => {
    expect(FIRST.specs.disruption).toEqual([
      "Drift breaks",
      "Drift lacks",
      "Drift waits",
      "Drift works",
    ]);
    expect(resultOf(FIRST, at("Drift waits"))).toBeUndefined();
    expect(resultOf(FIRST, at("Drift lacks"))?.state).toBe("skipped");
  });

  it("replace the older result of a spec on the same target only", () => {
    const later = { ...ABOUT, on: "2026-01-02", commit: "b2" };
    const outcomes = [outcome("Drift works", "passed"), outcome("Drift breaks", "notRun")];
    const second = withOutcomes(FIRST, later, outcomes);
    expect(resultOf(second, at("Drift works"))).toMatchObject({ state: "passed", commit: "b2" });
    expect(resultOf(second, at("Drift breaks"))).toMatchObject({ state: "passed", commit: "a1" });
    const elsewhere = withOutcomes(FIRST, { ...later, target: "cluster" }, outcomes);
    expect(resultOf(elsewhere, at("Drift works"))?.state).toBe("failed");
    expect(resultOf(elsewhere, at("Drift works", "cluster"))?.state).toBe("passed");
  });

  it("of one commit and date are one run", () => {
    const { runs } = withOutcomes(FIRST, ABOUT, [outcome("Drift waits", "passed")]);
    expect(runs).toEqual([
      {
        ...ABOUT,
        passed: ["Drift breaks", "Drift waits"],
        failed: ["Drift works"],
        skipped: ["Drift lacks"],
      },
    ]);
  });
});
