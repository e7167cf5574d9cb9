import { describe, expect, it } from "vitest";
import { type Logger, SILENT } from "./log.ts";
import { StandingProblems } from "./standing-problems.ts";

describe("a problem that lasts", () => {
  it("is an error when it begins, reads otherwise or comes back, and debug in between", () => {
    const lines: string[] = [];
    const log: Logger = {
      ...SILENT,
      debug: (message, fields) => lines.push(`debug ${message} ${fields?.["why"]}`),
      error: (message, fields) => lines.push(`error ${message} ${fields?.["why"]}`),
    };
    const problems = new StandingProblems(log);
    for (const why of ["a", "a", "b"]) problems.tell("pool/x", "no types", { why });
    problems.tell("pool/y", "no types", { why: "b" });
    problems.over("pool/x");
    for (const why of ["b", "b"]) problems.tell("pool/x", "no types", { why });
    expect(lines.splice(0)).toEqual([
      "error no types a",
      "debug no types a",
      "error no types b",
      "error no types b",
      "error no types b",
      "debug no types b",
    ]);
    // One pool is deleted, and made again later.
    problems.keep((key) => key === "pool/y");
    for (const key of ["pool/x", "pool/y"]) problems.tell(key, "no types", { why: "b" });
    expect(lines).toEqual(["error no types b", "debug no types b"]);
  });
});
