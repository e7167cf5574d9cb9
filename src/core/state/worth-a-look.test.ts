import { expect, test } from "vitest";
import { nodeClaim } from "../../testing/builders.ts";
import { comesToRest } from "./worth-a-look.ts";

const claim = (status: "True" | "False") =>
  nodeClaim({
    status: { conditions: [{ type: "Consolidatable", status, lastTransitionTime: "" }] },
  });

test("a NodeClaim becomes quiet only when it becomes Consolidatable", () => {
  expect(comesToRest(claim("False"), claim("True"))).toBe(true);
  expect(comesToRest(claim("True"), claim("True"))).toBe(false);
  expect(comesToRest(claim("False"), claim("False"))).toBe(false);
  expect(comesToRest(claim("True"), claim("False"))).toBe(false);
});
