import { describe, expect, it } from "vitest";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { nodeView, pod, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../solve.ts";

/** Whether a pod of 3 cores has a place on a node of 4, where a daemon of 2 does not run yet. */
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

describe("room for a daemon that is to come to a node", () => {
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

  it("is kept where one of its required terms is met, and only there", () => {
    expect(hasPlace({})).toBe(false);
    expect(hasPlace(terms("hdd", "ssd"))).toBe(false);
    expect(hasPlace(terms("hdd", "tape"))).toBe(true);
  });

  it("is not kept where a taint keeps the daemon away", () => {
    const taints = [{ key: "team", effect: "NoSchedule" as const }];
    const tolerations = [{ key: "team", operator: "Exists" as const }];
    expect(hasPlace({}, { taints, tolerations })).toBe(true);
    expect(hasPlace({ tolerations }, { taints, tolerations })).toBe(false);
  });

  it("is kept where a taint only discourages it", () => {
    const taints = [{ key: "team", effect: "PreferNoSchedule" as const }];
    expect(hasPlace({}, { taints })).toBe(false);
    expect(hasPlace(terms("hdd"), { taints })).toBe(true);
  });
});
