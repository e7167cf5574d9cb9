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

describe("status conditions of a NodeClaim", () => {
  it("start as Unknown, with the object's creation time", () => {
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

  it("make Ready True once all its dependent conditions are True, with Ready last", () => {
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

  it("name in Ready's message the conditions that are not True", () => {
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

  it("change lastTransitionTime only with their status, and return the same object if unchanged", () => {
    const one = withCondition(claim(), { type: "Drifted", status: "True" }, bornMs + 1_000);
    expect(withCondition(one, { type: "Drifted", status: "True" }, bornMs + 9_000)).toBe(one);
    const change = { type: "Drifted", status: "True", reason: "AMIDrift" } as const;
    const other = withCondition(one, change, bornMs + 9_000);
    expect(condition(other, "Drifted")).toMatchObject({
      reason: "AMIDrift",
      lastTransitionTime: "2026-01-01T00:00:01Z",
    });
  });

  it("do not make Ready True if their observedGeneration is older", () => {
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

  it("can be removed unless Ready depends on them", () => {
    const one = withCondition(claim(), { type: "Drifted", status: "True" }, bornMs);
    expect(condition(withoutCondition(one, "Drifted"), "Drifted")).toBeUndefined();
    expect(withoutCondition(one, "Launched")).toBe(one);
  });
});
