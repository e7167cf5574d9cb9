import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import type { KubeObject } from "../../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../../apis/policy/kinds.ts";
import { pod } from "../../../testing/builders.ts";
import { budgetStatus } from "./pdb-allowance.ts";

const OWNER = { kind: "ReplicaSet", name: "web" };
const ready = (name: string): Pod => {
  const made = pod({ name, owner: OWNER, nodeName: "n" });
  const conditions = [{ type: "Ready", status: "True" as const }];
  return { ...made, status: { ...made.status, phase: "Running", conditions } } as Pod;
};

/** Disruptions that a PodDisruptionBudget allows for four healthy pods of a ReplicaSet with this number of replicas. */
function allowedOf(spec: Partial<PodDisruptionBudget["spec"]>, replicas = 4) {
  const budget = { metadata: { name: "b" }, spec } as PodDisruptionBudget;
  const owner = { metadata: { name: "web", uid: "u" }, spec: { replicas } } as KubeObject;
  const pods = ["a", "b", "c", "d"].map(ready);
  const ownerOf = (object: KubeObject) => (object === owner ? undefined : owner);
  const { desiredHealthy, disruptionsAllowed } = budgetStatus(budget, pods, ownerOf, 0);
  return [desiredHealthy, disruptionsAllowed];
}

// upstream: kubernetes pkg/controller/disruption, GetScaledValueFromIntOrPercent with roundUp
describe("a PodDisruptionBudget over four healthy pods", () => {
  it.each([
    [1, 3, 1],
    ["25%", 3, 1],
    // 26 % of 4 pods is 1.04, so 2 may be unavailable.
    ["26%", 2, 2],
    ["1%", 3, 1],
    ["0%", 4, 0],
    ["99%", 0, 4],
  ])(
    "with maxUnavailable %s is rounded up: %i must be healthy, %i may be evicted",
    (maxUnavailable, desired, allowed) => {
      expect(allowedOf({ maxUnavailable })).toEqual([desired, allowed]);
    },
  );

  it.each([
    [3, 3, 1],
    ["50%", 2, 2],
    // 51 % of 4 pods is 2.04, so 3 must be healthy.
    ["51%", 3, 1],
    ["1%", 1, 3],
  ])(
    "with minAvailable %s is rounded up: %i must be healthy, %i may be evicted",
    (minAvailable, desired, allowed) => {
      expect(allowedOf({ minAvailable })).toEqual([desired, allowed]);
    },
  );

  it("counts a percentage of the owner's replicas, not of the existing pods", () => {
    expect(allowedOf({ maxUnavailable: "25%" }, 5)).toEqual([3, 1]);
    expect(allowedOf({ maxUnavailable: "25%" }, 8)).toEqual([6, 0]);
  });
});
