import { describe, expect, it } from "vitest";
import {
  condition,
  initializeConditions,
  withCondition,
  withConditionChanges,
  withoutCondition,
} from "./conditions.ts";
import type { NodeClaim } from "./nodeclaim.ts";

const bornMs = Date.parse("2026-01-01T00:00:00Z");

function claim(generation = 1): NodeClaim {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: { name: "a", generation, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { requirements: [], nodeClassRef: { group: "g", kind: "K", name: "n" } },
  };
}

function types(object: NodeClaim): readonly string[] {
  return object.status?.conditions?.map((one) => `${one.type}=${one.status}`) ?? [];
}

describe("conditions", () => {
  it("start unknown since the object's creation", () => {
    const fresh = initializeConditions(claim(), bornMs + 60_000);
    expect(types(fresh)).toEqual([
      "Launched=Unknown",
      "Registered=Unknown",
      "Initialized=Unknown",
      "Ready=Unknown",
    ]);
    expect(condition(fresh, "Launched")).toEqual({
      type: "Launched",
      status: "Unknown",
      reason: "AwaitingReconciliation",
      message: "object is awaiting reconciliation",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      observedGeneration: 1,
    });
    expect(initializeConditions(fresh, bornMs + 120_000)).toBe(fresh);
  });

  it("make Ready true once all that feed it are, with Ready last", () => {
    const ready = withConditionChanges(
      claim(),
      ["Launched", "Registered", "Initialized"].map((type) => ({ type, status: "True" })),
      bornMs + 5_000,
    );
    expect(types(ready).at(-1)).toBe("Ready=True");
    expect(condition(ready, "Ready")).toMatchObject({
      reason: "Ready",
      lastTransitionTime: "2026-01-01T00:00:05Z",
    });
  });

  it("say which ones keep Ready back", () => {
    const launched = withCondition(claim(), { type: "Launched", status: "True" }, bornMs);
    expect(condition(launched, "Ready")).toMatchObject({
      status: "Unknown",
      reason: "ReconcilingDependents",
      message: "Initialized=Unknown, Registered=Unknown",
    });
    const failed = withCondition(
      launched,
      { type: "Registered", status: "False", reason: "MultipleNodesFound", message: "two" },
      bornMs + 1_000,
    );
    expect(condition(failed, "Ready")).toMatchObject({
      status: "False",
      reason: "UnhealthyDependents",
    });
  });

  it("move their time only with their status, and return the object itself when nothing changes", () => {
    const one = withCondition(claim(), { type: "Drifted", status: "True" }, bornMs + 1_000);
    expect(withCondition(one, { type: "Drifted", status: "True" }, bornMs + 9_000)).toBe(one);
    const change = { type: "Drifted", status: "True", reason: "AMIDrift" } as const;
    const other = withCondition(one, change, bornMs + 9_000);
    expect(condition(other, "Drifted")).toMatchObject({
      reason: "AMIDrift",
      lastTransitionTime: "2026-01-01T00:00:01Z",
    });
  });

  it("count for nothing when they speak of an older generation", () => {
    const all = ["Launched", "Registered", "Initialized"];
    const changes = all.map((type) => ({ type, status: "True" }) as const);
    const ready = withConditionChanges(claim(), changes, bornMs);
    const edited = { ...ready, metadata: { ...ready.metadata, generation: 2 } };
    const seen = withCondition(edited, { type: "Launched", status: "True" }, bornMs + 1_000);
    expect(condition(seen, "Ready")).toMatchObject({
      status: "Unknown",
      message: "Initialized=True, Registered=True",
    });
  });

  it("can be removed unless they feed Ready", () => {
    const one = withCondition(claim(), { type: "Drifted", status: "True" }, bornMs);
    expect(condition(withoutCondition(one, "Drifted"), "Drifted")).toBeUndefined();
    expect(withoutCondition(one, "Launched")).toBe(one);
  });
});
