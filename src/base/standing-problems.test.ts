import { describe, expect, it } from "vitest";
import { type Logger, SILENT } from "./log.ts";
import { StandingProblems } from "./standing-problems.ts";
import { VirtualClock } from "./virtual-clock.ts";

describe("a problem that lasts", () => {
  it("is logged as an error when it begins, changes or comes back, and not in between", () => {
    const lines: string[] = [];
    const log: Logger = {
      ...SILENT,
      debug: (message) => lines.push(`debug ${message}`),
      error: (message, fields) => lines.push(`error ${message} ${fields?.["why"]}`),
    };
    const problems = new StandingProblems(log, new VirtualClock());
    for (const why of ["a", "a", "b"]) problems.tell("pool/x", "no types", { why });
    problems.tell("pool/y", "no types", { why: "b" });
    problems.over("pool/x");
    for (const why of ["b", "b"]) problems.tell("pool/x", "no types", { why });
    expect(lines.splice(0)).toEqual([
      "error no types a",
      "error no types b",
      "error no types b",
      "error no types b",
    ]);
    // The problems of pool/x are dropped, so its next problem is logged although it is the same.
    problems.keep((key) => key === "pool/y");
    for (const key of ["pool/x", "pool/y"]) problems.tell(key, "no types", { why: "b" });
    expect(lines).toEqual(["error no types b"]);
  });

  it("is reported again once an hour", async () => {
    const clock = new VirtualClock();
    const problems = new StandingProblems(SILENT, clock);
    const told: boolean[] = [];
    for (let minutes = 0; minutes <= 120; minutes += 30) {
      told.push(problems.tell("pod/a", "no place", {}));
      await clock.advance(30 * 60_000);
    }
    expect(told).toEqual([true, false, true, false, true]);
  });
});
