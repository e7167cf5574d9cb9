// Which pods of a command go to which node, and which other nodes are less preferred in the meantime.
import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { atOnce } from "../../base/steps.ts";
import { node, nodeClaim, pod, pool } from "../../testing/builders.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { nodeView } from "../state/node-view.ts";
import { evictionOrder, otherNodesWithRoom } from "./eviction-order.ts";

const planned: PlannedClaim = {
  pool: pool(),
  requirements: [],
  instanceTypes: [],
  pods: [],
  requests: {},
  cheapest: { instanceType: "m", zone: "zone-a", capacityType: "on-demand", priceMicroUsd: 1 },
  minValuesRelaxed: false,
};

describe("the target nodes of a command's pods", () => {
  it("are existing nodes first, then new ones, without nodes that take none of its pods", () => {
    const [first, second] = ["first", "second"].map((name) =>
      pod({ name, owner: { kind: "ReplicaSet", name: "app" } }),
    ) as [Pod, Pod];
    const waiting = pod({ name: "waiting" });
    const plan = { ...planned, pods: [waiting, second] };
    const placements = [
      { nodeName: "stays", pods: [first] },
      { nodeName: "full", pods: [] },
      { nodeName: "with-room-for-it", pods: [waiting] },
    ];
    const candidates = [{ zone: "zone-a", reschedulablePods: [first, second] }];
    const stops = atOnce(
      evictionOrder({ candidates, replacements: [plan], placements }, ["claim"], []),
    );
    expect(stops.map(({ name, pods, owners }) => [name, pods, [...owners]])).toEqual([
      ["stays", [first], [first.metadata.ownerReferences?.[0]?.uid]],
      ["claim", [second], [second.metadata.ownerReferences?.[0]?.uid]],
    ]);
  });
});

describe("equal pods of one owner", () => {
  it("go to nodes in their own zone first, as many to each as planned", () => {
    const owner = { kind: "ReplicaSet", name: "app" };
    const inA = pod({ name: "in-a", owner });
    const inB = pod({ name: "in-b", owner });
    const other = pod({ name: "other", owner: { kind: "StatefulSet", name: "db" } });
    const candidates = [
      { zone: "zone-a", reschedulablePods: [inA] },
      { zone: "zone-b", reschedulablePods: [inB, other] },
    ];
    const fresh = { ...planned, pods: [inB] };
    const placements = [{ nodeName: "stays", zone: "zone-b", pods: [inA, other] }];
    const stops = atOnce(
      evictionOrder({ candidates, replacements: [fresh], placements }, ["claim-in-a"], []),
    );
    expect(stops.map(({ name, pods }) => [name, pods])).toEqual([
      ["stays", [inB, other]],
      ["claim-in-a", [inA]],
    ]);
  });

  it("come from another zone only if their zone has no more of them", () => {
    const owner = { kind: "ReplicaSet", name: "app" };
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => pod({ name, owner })) as [
      Pod,
      Pod,
      Pod,
      Pod,
    ];
    const candidates = [
      { zone: "zone-a", reschedulablePods: [a, b] },
      { zone: "zone-b", reschedulablePods: [c, d] },
    ];
    const placements = [
      { nodeName: "x", zone: "zone-b", pods: [a, b] },
      { nodeName: "y", zone: "zone-c", pods: [c] },
      { nodeName: "z", zone: "zone-a", pods: [d] },
    ];
    const stops = atOnce(evictionOrder({ candidates, replacements: [], placements }, [], []));
    expect(stops.map(({ name, pods }) => [name, pods])).toEqual([
      ["x", [c, d]],
      ["y", [b]],
      ["z", [a]],
    ]);
  });
});

describe("other nodes with room", () => {
  it("exclude target nodes and nodes that are full, and start with the emptiest", () => {
    const view = (name: string, cpu: string) =>
      nodeView({
        node: node({ name }),
        claim: nodeClaim({ name }),
        pods: [pod({ name: `on-${name}`, cpu, nodeName: name })],
        marked: false,
        nominatedUntilMs: 0,
      });
    const nodes = [
      view("half", "2"),
      view("full", "3500m"),
      view("empty", "100m"),
      view("stop", "1"),
    ];
    const pods = [pod({ name: "x", cpu: "1" }), pod({ name: "y", cpu: "3" })];
    expect(atOnce(otherNodesWithRoom(nodes, new Set(["stop"]), pods))).toEqual(["empty", "half"]);
  });

  it("exclude nodes whose pods request more than the node has, even if not every pod requests it", () => {
    const gpu = "example.com/gpu";
    const view = (name: string, used: string) => {
      const { status, ...rest } = node({ name });
      return nodeView({
        node: {
          ...rest,
          status: { ...status, allocatable: { ...status?.allocatable, [gpu]: "1" } },
        },
        claim: nodeClaim({ name }),
        pods: [pod({ name: `on-${name}`, requests: { [gpu]: used }, nodeName: name })],
        marked: false,
        nominatedUntilMs: 0,
      });
    };
    const nodes = [view("free", "0"), view("over", "2"), view("used", "1")];
    const pods = [pod({ name: "x", requests: { [gpu]: "1" } }), pod({ name: "y" })];
    expect(atOnce(otherNodesWithRoom(nodes, new Set(), pods))).toEqual(["free", "used"]);
  });

  it("are compared by the share of their cpu that is free, not by the amount", () => {
    const view = (name: string, cpu: string, used: string) => {
      const { status, ...rest } = node({ name });
      const allocatable = { ...status?.allocatable, cpu };
      return nodeView({
        node: { ...rest, status: { ...status, allocatable } },
        claim: nodeClaim({ name }),
        pods: [pod({ name: `on-${name}`, cpu: used, nodeName: name })],
        marked: false,
        nominatedUntilMs: 0,
      });
    };
    const nodes = [view("large", "16", "12"), view("small", "4", "1")];
    const pods = [pod({ name: "x", cpu: "1" })];
    expect(atOnce(otherNodesWithRoom(nodes, new Set(), pods))).toEqual(["small", "large"]);
  });
});
