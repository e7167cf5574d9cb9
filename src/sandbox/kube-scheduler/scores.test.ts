import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { testNode, testPod, ZONE } from "../testing/objects.ts";
import { NO_SURROUNDINGS, snapshotOf } from "../testing/snapshots.ts";
import { podInfo } from "./pod-info.ts";
import { bestNode, scoreNodes } from "./scores.ts";

function best(pod: Pod, nodes: readonly Node[], placed: readonly Pod[] = []): string | undefined {
  const snapshot = snapshotOf(nodes, placed);
  return bestNode(podInfo(pod), snapshot.nodes, snapshot)?.name;
}

function on(node: string, name: string, app: string, cpu = "100m"): Pod {
  return testPod(name, { nodeName: node, requests: { cpu } }, { app });
}

const TWO = [testNode("a", { zone: "a" }), testNode("b", { zone: "b" })];
const labelSelector = { matchLabels: { app: "db" } };
const preferDb = { weight: 50, podAffinityTerm: { topologyKey: ZONE, labelSelector } };

describe("the node that kube-scheduler scores highest", () => {
  it.each<
    [title: string, pod: Pod, nodes: readonly Node[], placed: readonly Pod[], expected: string]
  >([
    ["is the first by name among equal nodes", testPod("p"), TWO, [], "a"],
    ["is the node with more free room", testPod("p"), TWO, [on("a", "x", "x", "2")], "b"],
    [
      "has no taint PreferNoSchedule, if there is one without",
      testPod("p"),
      [testNode("a", { taints: [{ key: "k", effect: "PreferNoSchedule" }] }), testNode("b")],
      [],
      "b",
    ],
    [
      "matches the preferred node affinity",
      testPod("p", {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                preference: { matchExpressions: [{ key: ZONE, operator: "In", values: ["b"] }] },
              },
            ],
          },
        },
      }),
      TWO,
      [],
      "b",
    ],
    [
      "is in the place of the pods that affinity prefers",
      testPod("p", {
        affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [preferDb] } },
      }),
      TWO,
      [on("b", "x", "db")],
      "b",
    ],
    [
      "is away from the pods that preferred anti-affinity names",
      testPod("p", {
        affinity: {
          podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [preferDb] },
        },
      }),
      TWO,
      [on("a", "x", "db")],
      "b",
    ],
    [
      "satisfies a soft topology spread, even with less free room",
      testPod(
        "p",
        {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: ZONE,
              whenUnsatisfiable: "ScheduleAnyway",
              labelSelector: { matchLabels: { app: "web" } },
            },
          ],
        },
        { app: "web" },
      ),
      TWO,
      [on("a", "x", "web"), on("b", "y", "other", "500m")],
      "b",
    ],
  ])("%s", (_, pod, nodes, placed, expected) => {
    expect(best(pod, nodes, placed)).toBe(expected);
  });

  it("is in another place than the owner's other pods, by default", () => {
    const surroundings = {
      ...NO_SURROUNDINGS,
      ownerSelector: () => ({ matchLabels: { app: "web" } }),
    };
    const placed = [on("a", "x", "web"), on("b", "y", "other", "500m")];
    const snapshot = snapshotOf(TWO, placed, surroundings);
    const pod = podInfo(testPod("p", {}, { app: "web" }));
    expect(bestNode(pod, snapshot.nodes, snapshot)?.name).toBe("b");
  });

  it("has the highest sum of plugin scores with kube-scheduler's weights", () => {
    const snapshot = snapshotOf([testNode("a")], [on("a", "x", "x", "1")]);
    const pod = podInfo(testPod("p", { requests: { cpu: "1", memory: "4Gi" } }));
    // Taints 3×100; least allocated (50 + 73)/2; balance 1 - |0.5 - 0.25|/2.
    expect(scoreNodes(pod, snapshot.nodes, snapshot)).toEqual([300 + 61 + 87]);
  });
});
