import { describe, expect, it } from "vitest";
import type { Event } from "../../apis/core/kinds.ts";
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import { decisionsView } from "./decisions.ts";
import { mapView } from "./map.ts";
import { historyView, moneyView, pricePoint, withPoint } from "./money.ts";
import { waitingView } from "./waiting.ts";

const node = (name: string, more: Partial<FleetNode> = {}): FleetNode => ({
  name,
  state: "running",
  nodePool: "general",
  capacityType: "spot",
  allocatable: { cpu: 4_000, memory: 8_000 },
  requested: { cpu: 1_000, memory: 6_000 },
  pods: 3,
  priceMicroUsdPerHour: 100_000,
  ...more,
});

function fleet(nodes: readonly FleetNode[], waiting: Fleet["waiting"] = []): Fleet {
  const total = (name: "allocatable" | "requested", resource: string) =>
    nodes.reduce((sum, one) => sum + (one[name][resource] ?? 0), 0);
  const amounts = (name: "allocatable" | "requested") => ({
    cpu: total(name, "cpu"),
    memory: total(name, "memory"),
  });
  return {
    at: "2026-01-01T00:00:00Z",
    nodes,
    pools: [],
    waiting,
    totals: {
      nodes: nodes.length,
      pods: nodes.reduce((sum, { pods }) => sum + pods, 0),
      waiting: waiting.reduce((sum, { pods }) => sum + pods, 0),
      allocatable: amounts("allocatable"),
      requested: amounts("requested"),
      priceMicroUsdPerHour: nodes.reduce((sum, one) => sum + (one.priceMicroUsdPerHour ?? 0), 0),
      unpriced: 0,
    },
  };
}

const { priceMicroUsdPerHour: _, ...unpriced } = node("b");

describe("the map view", () => {
  it("has one row for each node, and lacks unknown values instead of showing 0", () => {
    const { head, rows } = mapView(fleet([node("a", { held: "PDB shop/web" }), unpriced]));
    expect(head).toMatchObject({ nodes: 2, pods: 6, moving: 0, cpu: [2_000, 8_000] });
    expect(rows.get("a")).toMatchObject({ price: 100_000, held: "PDB shop/web" });
    expect(rows.get("b")).not.toHaveProperty("price");
  });

  it("counts starting and leaving nodes as moving, but not nodes of others", () => {
    const states = ["launching", "draining", "unmanaged", "running"] as const;
    expect(mapView(fleet(states.map((state) => node(state, { state })))).head.moving).toBe(2);
  });

  it("says for how many pods of CapacityBuffers a node keeps room", () => {
    const { rows } = mapView(fleet([node("a"), node("b")]), { room: new Map([["a", 2]]) });
    expect([...rows.values()].map(({ room }) => room)).toEqual([2, undefined]);
  });
});

describe("the money view", () => {
  it("has sums by NodePool and capacity type that add up to the fleet's cost", () => {
    const nodes = [node("a"), node("b"), node("c", { capacityType: "on-demand" })];
    const { head, rows } = moneyView(fleet(nodes));
    const sum = [...rows.values()].reduce((all, row) => all + row.priceMicroUsdPerHour, 0);
    expect(sum).toBe(head.priceMicroUsdPerHour);
    expect(rows.get("general/spot")).toMatchObject({ nodes: 2, priceMicroUsdPerHour: 200_000 });
  });

  it("counts as idle the mean of the free shares of cpu and memory, as costs by workload do", () => {
    // 75 % of the cpu and 25 % of the memory are free.
    expect(moneyView(fleet([node("a")])).rows.get("general/spot")?.idleMicroUsdPerHour).toBe(
      50_000,
    );
  });

  it("keeps a limited history, with the newest moments complete", () => {
    let history = withPoint([], pricePoint(fleet([node("a")]), 0));
    for (let at = 1; at < 5_000; at++)
      history = withPoint(history, pricePoint(fleet([node("a")]), at));
    expect(history.length).toBeLessThanOrEqual(1_000);
    expect(history[0]?.atMs).toBe(0);
    expect(history.slice(-100).map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: 100 }, (_, index) => 4_900 + index),
    );
    expect([...historyView(history).rows.keys()]).toHaveLength(history.length);
  });
});

describe("the decisions view", () => {
  const event = (name: string, more: Partial<Event> = {}): Event => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, uid: name, namespace: "default" },
    involvedObject: { kind: "NodeClaim", name: "claim" },
    reason: "DisruptionBlocked",
    message: "Pdb prevents it",
    type: "Normal",
    lastTimestamp: "2026-01-01T00:00:00Z",
    source: { component: "karpenter" },
    ...more,
  });

  it("has Karpenter's events and kube-scheduler's refusals, oldest first", () => {
    const events = [
      event("late", { lastTimestamp: "2026-01-01T00:00:09Z" }),
      event("other", { source: { component: "kubelet" } }),
      event("refusal", { reason: "FailedScheduling", source: { component: "default-scheduler" } }),
    ];
    expect([...decisionsView(events).rows.keys()]).toEqual(["refusal", "late"]);
  });

  it("has at most 2,000 events, and says how many were dropped", () => {
    const many = Array.from({ length: 2_010 }, (_, at) => event(`e${at}`));
    const { head, rows } = decisionsView(many);
    expect([rows.size, head.dropped]).toEqual([2_000, 10]);
  });
});

describe("the view of pending pods", () => {
  it("groups 10,000 pods of one cause in one row, with the oldest time and at most five names", () => {
    const unplaced = Array.from({ length: 10_000 }, (_, at) => ({
      pod: `shop/web-${at}`,
      since: at === 77 ? "2026-01-01T00:00:00Z" : "2026-01-01T00:00:05Z",
      reason: "no zone has capacity",
    }));
    const rows = [...waitingView(fleet([]), unplaced).rows.values()];
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ pods: 10_000, since: "2026-01-01T00:00:00Z" });
    expect(rows[0]?.examples).toHaveLength(5);
  });
});

it("has no cost for a capacity type or a NodePool of which no price is known, instead of 0", () => {
  const spot = node("a", { capacityType: "spot", priceMicroUsdPerHour: 5 });
  const unknown = { ...unpriced, capacityType: "on-demand" };
  const pool = { nodes: 1, allocatable: {}, requested: {}, moving: 0, held: 0 };
  const pools = [
    { ...pool, name: "cheap", priceMicroUsdPerHour: 5 },
    { ...pool, name: "unknown", priceMicroUsdPerHour: 0 },
  ];
  const point = pricePoint({ ...fleet([spot, unknown]), pools }, 0);
  expect(point).toMatchObject({ parts: { spot: 5 }, pools: { cheap: 5 } });
  expect([point.parts, point.pools].map((one) => Object.keys(one).length)).toEqual([1, 1]);
  expect(point.unknown).toEqual({ parts: ["on-demand"], pools: ["unknown"] });
  const idle = { ...pool, name: "idle", nodes: 0, priceMicroUsdPerHour: 0 };
  expect(pricePoint({ ...fleet([spot]), pools: [idle] }, 0).unknown).toBeUndefined();
});
