/** The classes of differences need upstream's engine, but the scenarios that they ask about do not. */
import { expect, it } from "vitest";
import type { Scenario } from "../validator/validate.ts";
import { asTheyLimitIt, type Difference, plannerPlaces } from "./differences.ts";
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

it("the comparison with upstream counts equal pods that the planner places, and not which of them", () => {
  const metadata = { namespace: "default" };
  const [first, second, other] = ["a", "b", "c"].map((name) => ({
    kind: "Pod",
    metadata: { ...metadata, name },
    spec: { priority: name === "c" ? 1 : 0 },
  }));
  const explained = (leftByPlanner: readonly string[], placedByUpstream: readonly string[]) =>
    plannerPlaces({
      scenario: { manifests: [first, second, other] },
      pod: first,
      theirs: { newNodeClaims: [{ nodePool: "a", pods: placedByUpstream }], existing: {} },
      refused: new Set(),
      oursByPlanner: () => ({ unschedulable: leftByPlanner.map((pod) => ({ pod })) }),
    } as unknown as Difference);
  const [a, b, c] = ["default/a", "default/b", "default/c"];
  expect(explained([b], [a, b])).toBe(true);
  expect(explained([a], [a])).toBe(true);
  expect(explained([a], [a, b])).toBe(false);
  expect(explained([a, b], [a, c])).toBe(false);
});
