import { expect, it } from "vitest";
import { heldTrace, traceLine } from "./trace-printer.ts";

const EVENT = {
  atMs: Date.UTC(2026, 0, 5, 8, 0, 1, 35),
  actor: "karpenter",
  verb: "launched",
  object: "nodeclaim default-472wc",
  what: "c5ad.xlarge spot us-west-2c $0.0442/h",
  why: "best offering among 600 types",
};

it("a line of the trace fits the width of the terminal, and shows details even on a narrow one", () => {
  expect(traceLine(EVENT, 80)).toBe(
    "08:00:01.035  karpenter  launched     nodeclaim default-472wc  c5ad.xlarge spot…",
  );
  expect(traceLine(EVENT, 80)).toHaveLength(80);
  expect(traceLine(EVENT, 40)).toHaveLength(40);
  const wide = traceLine(EVENT, undefined);
  expect(wide.indexOf("c5ad.xlarge")).toBe(78);
  expect(wide).toContain("(best offering among 600 types)");
  expect(traceLine(EVENT, 120)).toBe(`${wide.slice(0, 119)}…`);
  expect(traceLine(EVENT, 300)).toBe(wide);
});

it("a held trace prints its events in order once it is released, and later ones at once", () => {
  const printed: string[] = [];
  const { trace, release } = heldTrace(({ object }) => printed.push(object));
  trace({ ...EVENT, object: "pod a" });
  trace({ ...EVENT, object: "pod b" });
  expect(printed).toEqual([]);
  release();
  trace({ ...EVENT, object: "pod c" });
  expect(printed).toEqual(["pod a", "pod b", "pod c"]);
});
