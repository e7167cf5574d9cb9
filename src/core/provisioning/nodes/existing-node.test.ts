import { describe, expect, it } from "vitest";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { nodeClaim, nodeView, pod, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../solve.ts";

/** Whether a pod of 3 cores fits on a node of 4 cores, if the node may still get a daemon of 2 cores. */
function hasPlace(
  daemon: Partial<Pod["spec"]>,
  { taints = [], tolerations = [] }: { taints?: Taint[]; tolerations?: object[] } = {},
): boolean {
  const owner = { kind: "DaemonSet", name: "agent" };
  const { unschedulable } = solve(
    schedulingInput({
      pods: [pod({ cpu: "3", spec: { tolerations } })],
      daemonPods: [pod({ name: "agent", cpu: "2", owner, spec: daemon })],
      nodes: [nodeView({ node: { taints, labels: { disk: "ssd" } } })],
      pools: [],
    }),
  );
  return unschedulable.length === 0;
}

describe("room for a DaemonSet pod that has not come to a node yet", () => {
  const terms = (...values: readonly string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: values.map((value) => ({
            matchExpressions: [{ key: "disk", operator: "In" as const, values: [value] }],
          })),
        },
      },
    },
  });

  it("is kept only if the node meets one of its required node affinity terms", () => {
    expect(hasPlace({})).toBe(false);
    expect(hasPlace(terms("hdd", "ssd"))).toBe(false);
    expect(hasPlace(terms("hdd", "tape"))).toBe(true);
  });

  it("is not kept if the DaemonSet pod does not tolerate a taint", () => {
    const taints = [{ key: "team", effect: "NoSchedule" as const }];
    const tolerations = [{ key: "team", operator: "Exists" as const }];
    expect(hasPlace({}, { taints, tolerations })).toBe(true);
    expect(hasPlace({ tolerations }, { taints, tolerations })).toBe(false);
  });

  it("is kept despite a PreferNoSchedule taint", () => {
    const taints = [{ key: "team", effect: "PreferNoSchedule" as const }];
    expect(hasPlace({}, { taints })).toBe(false);
    expect(hasPlace(terms("hdd"), { taints })).toBe(true);
  });
});

describe("a node that reboots", () => {
  const containers = [
    {
      name: "web",
      ports: [{ containerPort: 80, hostPort: 80 }],
      resources: { requests: { cpu: "3" } },
    },
  ];
  const stopping = pod({ name: "old", nodeName: "node", spec: { containers } });
  const ending = {
    ...stopping,
    metadata: { ...stopping.metadata, deletionTimestamp: "2026-01-05T08:00:00Z" },
  };
  const hasRoomFor = (old: Pod, rebooting: "True" | "False") => {
    const conditions = [{ type: "Rebooting", status: rebooting }];
    const labels = { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" };
    const view = nodeView({
      node: { labels },
      claim: nodeClaim({ status: { nodeName: "node", conditions } }),
      pods: [old],
    });
    const pods = [pod({ name: "new", spec: { containers } })];
    const { unschedulable } = solve(schedulingInput({ pods, nodes: [view], pools: [] }));
    return unschedulable.length === 0;
  };

  it("counts the room of pods that are being deleted as free", () => {
    expect(hasRoomFor(ending, "True")).toBe(true);
    expect(hasRoomFor(ending, "False")).toBe(false);
    // A pod that cannot be evicted stays on the node during the reboot.
    expect(hasRoomFor(stopping, "True")).toBe(false);
  });
});
