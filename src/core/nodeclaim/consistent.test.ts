import { describe, expect, it } from "vitest";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { node, nodeClaim, pod } from "../../testing/builders.ts";
import { drainIssues, shapeIssues, withConsistency } from "./consistent.ts";

const NOW = Date.UTC(2026, 0, 5);
const claimOf = (
  capacity: Record<string, string>,
  requests: Record<string, string> = { cpu: "1", memory: "1Gi" },
  initialized: "True" | "Unknown" = "True",
) =>
  nodeClaim({
    resources: { requests },
    status: {
      providerID: "test://a",
      capacity,
      conditions: [
        { type: "Initialized", status: initialized, lastTransitionTime: toRfc3339(NOW) },
      ],
    },
  });

describe("the consistency of a node's capacity", () => {
  it("allows ten percent less than the NodeClaim's capacity, and names each smaller resource", () => {
    const claim = claimOf({ cpu: "4", memory: "16Gi" });
    expect(shapeIssues(claim, node({ capacity: { cpu: "3600m", memory: "14.4Gi" } }))).toEqual([]);
    expect(shapeIssues(claim, node({ capacity: { cpu: "3500m", memory: "8Gi" } }))).toEqual([
      "expected 4 of resource cpu, but found 3500m (87.5% of expected)",
      "expected 16Gi of resource memory, but found 8Gi (50.0% of expected)",
    ]);
  });

  it("checks only requested resources, and counts a missing one as zero", () => {
    const gpu = { cpu: "4", "nvidia.com/gpu": "1" };
    const present = node({ capacity: { cpu: "4" } });
    expect(shapeIssues(claimOf(gpu), present)).toEqual([]);
    expect(shapeIssues(claimOf(gpu, { "nvidia.com/gpu": "0" }), present)).toEqual([]);
    expect(shapeIssues(claimOf({}, { cpu: "1" }), present)).toEqual([]);
    expect(shapeIssues(claimOf(gpu, { "nvidia.com/gpu": "1" }), present)).toEqual([
      "expected 1 of resource nvidia.com/gpu, but found 0 (0.0% of expected)",
    ]);
  });

  it("is not checked before the node is initialized", () => {
    const claim = claimOf({ cpu: "4" }, { cpu: "1" }, "Unknown");
    expect(shapeIssues(claim, node({ capacity: { cpu: "1" } }))).toEqual([]);
  });
});

describe("the condition ConsistentStateFound", () => {
  it("is False while there is an issue, then True, and never part of Ready", () => {
    const ready = ["Launched", "Registered", "Initialized"].map((type) => ({
      type,
      status: "True" as const,
      reason: type,
      lastTransitionTime: toRfc3339(NOW),
      observedGeneration: 0,
    }));
    const before = nodeClaim({ status: { providerID: "test://a", conditions: ready } });
    const wrong = withConsistency(before, ["less"], NOW);
    expect(condition(wrong, "ConsistentStateFound")).toMatchObject({
      status: "False",
      reason: "ConsistencyCheckFailed",
      message: "Consistency Check Failed",
    });
    expect(isTrue(wrong, "Ready")).toBe(true);
    const right = withConsistency(wrong, [], NOW + 600_000);
    expect(condition(right, "ConsistentStateFound")).toMatchObject({
      status: "True",
      reason: "ConsistentStateFound",
      message: "",
    });
    expect(withConsistency(right, [], NOW + 1_200_000)).toBe(right);
  });

  it("is set in v1 only", () => {
    const machine = { ...nodeClaim(), kind: "Machine" };
    expect(withConsistency(machine, ["less"], NOW)).toBe(machine);
  });
});

describe("the issues of a drain", () => {
  const guard = (name: string, disruptionsAllowed: number): PodDisruptionBudget => ({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace: "default" },
    spec: { selector: { matchLabels: { app: name } } },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  });
  const running = (name: string, app: string) => pod({ name, labels: { app }, nodeName: "node" });

  it("are the PodDisruptionBudgets that allow no eviction on the node, each once", () => {
    const pods = [running("a", "web"), running("b", "web"), running("c", "db"), running("d", "x")];
    const guards = [guard("web", 0), guard("db", 1), guard("elsewhere", 0)];
    expect(drainIssues(pods, guards, NOW)).toEqual([
      `can't drain node, PDB "default/web" is blocking evictions`,
    ]);
    expect(drainIssues([], guards, NOW)).toEqual([]);
    const leaving = running("a", "web");
    const deletionTimestamp = toRfc3339(NOW - 1_000);
    const terminating = { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp } };
    expect(drainIssues([terminating], guards, NOW)).toEqual([]);
  });
});
