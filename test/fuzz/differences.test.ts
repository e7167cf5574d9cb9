/** The classes of differences need upstream's engine, but the scenarios that they ask about do not. */
import { expect, it } from "vitest";
import type { Scenario } from "../validator/validate.ts";
import { asTheyLimitIt } from "./differences.ts";
import type { Outcome } from "./upstream.ts";

const pool = (name: string, nodes: string) => ({
  kind: "NodePool",
  metadata: { name },
  spec: { limits: { nodes, cpu: "10" } },
});

const scenario = { manifests: [pool("a", "1"), pool("b", "1")] } as unknown as Scenario;

function limitsIf(opened: readonly string[]): readonly unknown[] {
  const newNodeClaims = opened.map((nodePool, at) => ({ nodePool, pods: [`default/p-${at}`] }));
  const theirs = { newNodeClaims } as unknown as Outcome;
  return asTheyLimitIt({ scenario, theirs }).manifests.map(({ spec }) => spec.limits);
}

it("the comparison with upstream ignores node limits that upstream exceeds, of any pool, and no other limit", () => {
  const whole = { nodes: "1", cpu: "10" };
  expect(limitsIf(["a", "b"])).toEqual([whole, whole]);
  expect(limitsIf(["a", "a", "b"])).toEqual([{ cpu: "10" }, whole]);
  expect(limitsIf(["b", "b", "a", "a"])).toEqual([{ cpu: "10" }, { cpu: "10" }]);
});
