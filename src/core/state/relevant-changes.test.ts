import { expect, test } from "vitest";
import { nodeClaim } from "../../testing/builders.ts";
import { becomesConsolidatable } from "./relevant-changes.ts";

const claim = (status: "True" | "False") =>
  nodeClaim({
    status: { conditions: [{ type: "Consolidatable", status, lastTransitionTime: "" }] },
  });

test("a NodeClaim becomes quiet only when it becomes Consolidatable", () => {
  expect(becomesConsolidatable(claim("False"), claim("True"))).toBe(true);
  expect(becomesConsolidatable(claim("True"), claim("True"))).toBe(false);
  expect(becomesConsolidatable(claim("False"), claim("False"))).toBe(false);
  expect(becomesConsolidatable(claim("True"), claim("False"))).toBe(false);
});
