import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import type { Fleet, FleetNode } from "../../core/answers/fleet.ts";
import { mapView, mapViewInSteps } from "./map.ts";
import { groupsInSteps, listedNodesInSteps } from "./node-groups.ts";
import { patchText, written } from "./view.ts";

const ZONES = ["a", "b", "c"];
const TYPES = ["m-4", "m-8"];

function node(index: number): FleetNode {
  return {
    name: `node-${index}`,
    state: index % 1_000 === 0 ? "draining" : "running",
    nodePool: `pool-${index % 4}`,
    capacityType: index % 2 === 0 ? "spot" : "on-demand",
    zone: ZONES[index % 3] as string,
    instanceType: TYPES[index % 2] as string,
    allocatable: { cpu: 4_000, memory: 8_000 },
    requested: { cpu: 1_000, memory: 6_000 },
    pods: 3,
    ...(index % 10 === 0 ? {} : { priceMicroUsdPerHour: 100 }),
    ...(index % 50 === 0 ? { held: "PDB shop/web" } : {}),
  };
}

function fleet(count: number): Fleet {
  const nodes = Array.from({ length: count }, (_, index) => node(index));
  const totals = {
    nodes: count,
    pods: 3 * count,
    waiting: 0,
    allocatable: { cpu: 4_000 * count, memory: 8_000 * count },
    requested: { cpu: 1_000 * count, memory: 6_000 * count },
    priceMicroUsdPerHour: 90 * count,
    unpriced: count / 10,
  };
  return { at: "2026-01-01T00:00:00Z", nodes, pools: [], waiting: [], totals };
}

describe("the map of 100,000 nodes", () => {
  const { head, rows } = mapView(fleet(100_000));

  it("is sent as groups, with the facts by which nodes are grouped", () => {
    expect(head.groupedBy).toEqual(["pool", "capacity", "zone", "type"]);
    expect(head).toMatchObject({ nodes: 100_000, moving: 100 });
    expect([...rows.keys()].slice(0, 2)).toEqual(["pool-0/spot/a/m-4", "pool-0/spot/b/m-4"]);
    const text = patchText(undefined, written({ head, rows })) ?? "";
    expect(text.length).toBeLessThan(10_000);
  });

  it("has groups whose numbers add up to those of all nodes", () => {
    const all = [...rows.values()];
    const sum = (of: (row: (typeof all)[number]) => number) =>
      all.reduce((before, row) => before + of(row), 0);
    expect(sum(({ nodes = 0 }) => nodes)).toBe(100_000);
    expect(sum(({ pods }) => pods)).toBe(300_000);
    expect(sum(({ price = 0 }) => price)).toBe(100 * 90_000);
    expect(sum(({ cpu }) => cpu[0])).toBe(100_000 * 1_000);
    expect(sum(({ memory }) => memory[1])).toBe(100_000 * 8_000);
    expect(sum(({ states }) => states?.draining ?? 0)).toBe(100);
  });

  it("is sent as single nodes up to the limit", () => {
    const few = atOnce(mapViewInSteps(fleet(100), {}, 100));
    expect([few.rows.size, few.head.groupedBy]).toEqual([100, undefined]);
    const many = atOnce(mapViewInSteps(fleet(100), {}, 99));
    expect(many.rows.size).toBeLessThan(100);
  });
});

describe("groups of nodes on the map", () => {
  it("say what blocks some of their nodes, and lack values that no node has", () => {
    const { nodes } = fleet(100);
    const { rows } = atOnce(groupsInSteps([...nodes.slice(0, 1), ...nodes.slice(12, 13)]));
    expect([...rows.values()]).toMatchObject([
      { nodes: 2, held: "1 of 2 nodes", price: 100, states: { draining: 1, running: 1 } },
    ]);
    const unpriced = atOnce(groupsInSteps(nodes.slice(0, 1)));
    expect([...unpriced.rows.values()][0]).not.toHaveProperty("price");
  });

  it("are formed by fewer facts if there would be too many groups", () => {
    const { nodes } = fleet(100);
    expect(atOnce(groupsInSteps(nodes, 11)).by).toEqual(["pool", "capacity"]);
    // Nodes are always grouped by the first property at least, even if the groups are too many.
    expect(atOnce(groupsInSteps(nodes, 1)).by).toEqual(["pool"]);
  });

  it("list the first of their nodes, or of the nodes of a filter, with the number of all", () => {
    const whole = fleet(1_000);
    const list = (group: string | undefined, filter: string, most?: number) => {
      const { total, rows } = atOnce(listedNodesInSteps(whole, { group, filter }, most));
      return [total, Object.keys(rows)];
    };
    expect(list("pool-0/spot/a/m-4", "", 2)).toEqual([84, ["node-0", "node-12"]]);
    expect(list("pool-0/spot", "draining")).toEqual([1, ["node-0"]]);
    expect(list(undefined, "Pool-3 node-99")).toEqual([
      4,
      ["node-99", "node-991", "node-995", "node-999"],
    ]);
    expect(list("pool-9", "")).toEqual([0, []]);
  });
});
