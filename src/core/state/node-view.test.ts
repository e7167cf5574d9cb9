/** These tests are about nodes of which only the Node or only the claim has some facts. */
import { describe, expect, it } from "vitest";
import { node, nodeClaim } from "../../testing/builders.ts";
import { type NodeFacts, nodeView } from "./node-view.ts";

const REGISTERED = { "karpenter.sh/registered": "true" };
const INITIALIZED = { ...REGISTERED, "karpenter.sh/initialized": "true" };
const GPU = "x.com/gpu";

const view = (facts: Partial<NodeFacts>) =>
  nodeView({
    node: undefined,
    claim: undefined,
    pods: [],
    marked: false,
    nominatedUntilMs: 0,
    ...facts,
  });

describe("a node that is not initialized", () => {
  const amounts = { cpu: "8", [GPU]: "2" };
  const claim = nodeClaim({ status: { capacity: amounts, allocatable: amounts } });
  const joined = (labels: Record<string, string>, reported: Record<string, string> = {}) =>
    view({ node: node({ labels, capacity: { cpu: "4", ...reported } }), claim });

  it("has the claim's capacity of a resource until the Node reports it", () => {
    for (const field of ["capacity", "allocatable", "available"] as const) {
      expect(joined(REGISTERED)[field]).toMatchObject({ cpu: 4_000, [GPU]: 2 });
      expect(joined(REGISTERED, { [GPU]: "0" })[field]).toMatchObject({ [GPU]: 2 });
      expect(joined(REGISTERED, { [GPU]: "1" })[field]).toMatchObject({ [GPU]: 1 });
      expect(joined(INITIALIZED)[field][GPU]).toBe(undefined);
      expect(joined(INITIALIZED, { [GPU]: "0" })[field][GPU]).toBe(0);
    }
  });
});

describe("a node that is not registered", () => {
  const ours = [{ key: "ours", effect: "NoSchedule" as const }];
  const theirs = [{ key: "theirs", effect: "NoSchedule" as const }];
  const claim = nodeClaim({ labels: { "x/team": "blue" }, taints: ours });
  const joined = (labels: Record<string, string>) =>
    view({ node: node({ labels: { ...labels, "x/team": "red" }, taints: theirs }), claim });

  it("has the labels and taints of its claim, and those of its Node once registered", () => {
    expect(joined({})).toMatchObject({ registered: false, taints: ours });
    expect(joined({}).labels["x/team"]).toBe("blue");
    expect(joined(REGISTERED)).toMatchObject({ registered: true, taints: theirs });
    expect(joined(REGISTERED).labels["x/team"]).toBe("red");
  });
});

describe("a node that is cordoned", () => {
  const cordon = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" as const };

  it("has the unschedulable taint once, whether or not the Node has it already", () => {
    expect(view({ node: node() }).taints).toEqual([]);
    expect(view({ node: node({ unschedulable: true }) }).taints).toEqual([cordon]);
    const tainted = node({ unschedulable: true, taints: [cordon] });
    expect(view({ node: tainted }).taints).toEqual([cordon]);
  });
});

describe("a node counts as being deleted", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const isLeaving = (facts: Partial<NodeFacts>) =>
    view({ node: node(), claim: nodeClaim(), ...facts }).deleting;
  const condition = (type: string, status: "True" | "False") =>
    nodeClaim({ status: { conditions: [{ type, status, lastTransitionTime: "" }] } });

  it("if it, its claim or its instance is being deleted, or it has a deletion mark", () => {
    const there = node();
    expect(isLeaving({})).toBe(false);
    expect(isLeaving({ marked: true })).toBe(true);
    const leaving = { ...there, metadata: { ...there.metadata, deletionTimestamp } };
    expect(isLeaving({ node: leaving })).toBe(true);
    expect(isLeaving({ claim: nodeClaim({ metadata: { deletionTimestamp } }) })).toBe(true);
    expect(isLeaving({ claim: condition("InstanceTerminating", "True") })).toBe(true);
    expect(isLeaving({ claim: condition("InstanceTerminating", "False") })).toBe(false);
    expect(isLeaving({ claim: condition("Drifted", "True") })).toBe(false);
  });
});
