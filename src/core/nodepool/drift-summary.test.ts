import { expect, test } from "vitest";
import { driftSummary } from "./drift-summary.ts";

test("the summary of drifted nodes names the most frequent reason first, and equal ones by name", () => {
  expect(driftSummary([undefined])).toBe(undefined);
  expect(driftSummary(["NodePoolDrifted"])).toBe("1 of 1 node has drifted: 1 NodePoolDrifted");
  const drifts = ["b", "c", "a", undefined, "c", "c", "b", "a"];
  expect(driftSummary(drifts)).toBe("7 of 8 nodes have drifted: 3 c, 2 a, 2 b");
});
