import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { RefusedNodes } from "./refused-nodes.ts";

const MINUTE = 60_000;

function pod(name: string, owner = "web"): Pod {
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner, controller: true },
  ];
  return { metadata: { name, uid: name, ownerReferences }, spec: {} } as unknown as Pod;
}

describe("pods whose planned nodes refuse them", () => {
  it("get a second node at once, and wait longer before each further one", () => {
    const nodes = new RefusedNodes();
    const waits: number[] = [];
    let nowMs = 0;
    for (let at = 0; at < 8; at++) {
      nodes.refused([pod("a"), pod("b")], nowMs);
      const waitMs = nodes.waitMs(pod("c"), nowMs);
      waits.push(waitMs / MINUTE);
      nowMs += waitMs + 10_000;
    }
    expect(waits).toEqual([0, 1, 2, 4, 8, 15, 15, 15]);
  });

  it("do not wait longer because of several nodes that were bought together", () => {
    const nodes = new RefusedNodes();
    for (const name of ["a", "b", "c", "d"]) nodes.refused([pod(name)], 0);
    expect(nodes.waitMs(pod("a"), 0)).toBe(MINUTE);
  });

  it("do not wait once a node has taken a pod of their owner, and others never wait", () => {
    const nodes = new RefusedNodes();
    nodes.refused([pod("a")], 0);
    nodes.refused([pod("a")], 0);
    expect(nodes.waitMs(pod("other", "job"), 0)).toBe(0);
    nodes.bound(pod("b"));
    expect(nodes.waitMs(pod("a"), 0)).toBe(0);
  });

  it("are not waiting for refusals of long ago", () => {
    const nodes = new RefusedNodes();
    nodes.refused([pod("a")], 0);
    nodes.refused([pod("a")], 60 * MINUTE);
    expect(nodes.waitMs(pod("a"), 60 * MINUTE)).toBe(0);
  });
});
