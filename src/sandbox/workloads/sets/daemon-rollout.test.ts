import { describe, expect, it } from "vitest";
import type { DaemonSet } from "../../../apis/apps/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { pod } from "../../../testing/builders.ts";
import { daemonSteps, HASH_LABEL } from "./daemon-rollout.ts";

/**
 * First steps of a rollout on six nodes, each with a healthy old pod: removed pods, and nodes that get a second pod.
 */
function firstSteps(rollingUpdate: object): readonly [removed: number, created: number] {
  const nodes = ["a", "b", "c", "d", "e", "f"];
  const old = (name: string): Pod => {
    const made = pod({ name, nodeName: name, labels: { [HASH_LABEL]: "old" } });
    const conditions = [{ type: "Ready", status: "True" as const }];
    return { ...made, status: { ...made.status, phase: "Running", conditions } } as Pod;
  };
  const set = { spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate } } };
  const byNode = new Map(nodes.map((name) => [name, [old(name)]]));
  const { remove, create } = daemonSteps(set as unknown as DaemonSet, "new", nodes, byNode, 0);
  return [remove.length, create.length];
}

// upstream: kubernetes pkg/controller/daemon/util, UnavailableCount and SurgeCount round up
describe("a rollout of a DaemonSet on six nodes", () => {
  it.each([
    [1, 1],
    ["33%", 2],
    // 34 % of six nodes is 2.04, which is rounded up.
    ["34%", 3],
    ["1%", 1],
    ["100%", 6],
  ])(
    "with maxUnavailable %s replaces %i pods at once, because percentages are rounded up",
    (maxUnavailable, count) => {
      expect(firstSteps({ maxUnavailable })).toEqual([count, 0]);
    },
  );

  it.each([
    [1, 1],
    ["34%", 3],
    ["1%", 1],
  ])(
    "with maxSurge %s adds %i pods at once, because percentages are rounded up",
    (maxSurge, count) => {
      expect(firstSteps({ maxSurge, maxUnavailable: 0 })).toEqual([0, count]);
    },
  );
});
