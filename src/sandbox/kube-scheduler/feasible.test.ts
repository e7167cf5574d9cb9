import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { Affinity, Pod, TopologySpreadConstraint } from "../../apis/core/pod.ts";
import { HOSTNAME, testNode, testPod, ZONE } from "../testing/objects.ts";
import { NO_SURROUNDINGS, snapshotOf } from "../testing/snapshots.ts";
import { feasibleNodes } from "./feasible.ts";
import { unschedulableMessage } from "./message.ts";
import { podInfo } from "./pod-info.ts";
import { findPreemption } from "./preemption.ts";

const THREE = [
  testNode("a", { zone: "a" }),
  testNode("b", { zone: "b" }),
  testNode("c", { zone: "c", taints: [{ key: "team", value: "x", effect: "NoSchedule" }] }),
];

function nodesFor(pod: Pod, nodes: readonly Node[], placed: readonly Pod[] = []): string {
  const result = feasibleNodes(podInfo(pod), snapshotOf(nodes, placed));
  return result.nodes.map(({ name }) => name).join(" ");
}

function on(node: string, name: string, app: string, extra: Partial<Pod["spec"]> = {}): Pod {
  return testPod(name, { ...extra, nodeName: node }, { app });
}

function spread(extra: Partial<TopologySpreadConstraint> = {}): Partial<Pod["spec"]> {
  const constraint: TopologySpreadConstraint = {
    maxSkew: 1,
    topologyKey: ZONE,
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: { app: "web" } },
    ...extra,
  };
  return { topologySpreadConstraints: [constraint] };
}

function near(app: string, topologyKey = ZONE): Affinity {
  const term = { topologyKey, labelSelector: { matchLabels: { app } } };
  return { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
}

function far(app: string, topologyKey = ZONE): Affinity {
  const term = { topologyKey, labelSelector: { matchLabels: { app } } };
  return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
}

const WEB = { app: "web" };

describe("the nodes that kube-scheduler's filters accept", () => {
  it.each<[title: string, pod: Pod, expected: string, placed?: readonly Pod[]]>([
    ["have no taint that the pod does not tolerate", testPod("p"), "a b"],
    [
      "may have taints that the pod tolerates",
      testPod("p", { tolerations: [{ key: "team", operator: "Exists" }] }),
      "a b c",
    ],
    ["match the pod's node selector", testPod("p", { nodeSelector: { [ZONE]: "b" } }), "b"],
    [
      "have the name that the pod's spec sets",
      testPod("p", {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchFields: [{ key: "metadata.name", operator: "In", values: ["a"] }] },
              ],
            },
          },
        },
      }),
      "a",
    ],
    [
      "have enough free cpu",
      testPod("p", { requests: { cpu: "3" } }),
      "b",
      [
        on("a", "x", "x", {
          containers: [{ name: "m", resources: { requests: { cpu: "1500m" } } }],
        }),
      ],
    ],
    [
      "have the requested extended resource",
      testPod("p", { requests: { "nvidia.com/gpu": "1" } }),
      "",
    ],
    [
      "have the requested host port free",
      testPod("p", { containers: [{ name: "m", ports: [{ containerPort: 80, hostPort: 80 }] }] }),
      "b",
      [
        on("a", "x", "x", {
          containers: [{ name: "m", ports: [{ containerPort: 80, hostPort: 80 }] }],
        }),
      ],
    ],
    [
      "keep the topology spread within its maximum skew",
      testPod("p", spread(), WEB),
      "b",
      [on("a", "x", "web")],
    ],
    [
      "count for the skew only pods that the selector matches",
      testPod("p", spread(), WEB),
      "a b",
      [on("a", "x", "other")],
    ],
    [
      "count tainted nodes for the skew by default",
      testPod("p", spread(), WEB),
      "",
      [on("a", "x", "web"), on("b", "y", "web")],
    ],
    [
      "do not count tainted nodes for the skew if nodeTaintsPolicy is Honor",
      testPod("p", spread({ nodeTaintsPolicy: "Honor" }), WEB),
      "a b",
      [on("a", "x", "web"), on("b", "y", "web")],
    ],
    [
      "count for the skew as if a domain were empty, while there are fewer than minDomains",
      testPod("p", spread({ minDomains: 5 }), WEB),
      "b",
      [on("a", "x", "web"), on("c", "z", "web")],
    ],
    [
      "have the label that the topology spread uses",
      testPod("p", spread({ topologyKey: "rack" }), WEB),
      "",
    ],
    [
      "are in the zone that pod affinity requires",
      testPod("p", { affinity: near("db") }),
      "b",
      [on("b", "x", "db")],
    ],
    [
      "are all nodes if the first pod of a group has affinity to itself",
      testPod("p", { affinity: near("p") }),
      "a b",
    ],
    [
      "are none if no pod matches the required affinity",
      testPod("p", { affinity: near("db") }),
      "",
    ],
    [
      "are not in the zone that anti-affinity excludes",
      testPod("p", { affinity: far("db") }),
      "b",
      [on("a", "x", "db")],
    ],
    [
      "have no pod whose anti-affinity matches the new pod",
      testPod("p", {}, { app: "p" }),
      "b",
      [on("a", "x", "db", { affinity: far("p", HOSTNAME) })],
    ],
  ])("%s", (_, pod, expected, placed = []) => {
    expect(nodesFor(pod, THREE, placed)).toBe(expected);
  });

  it("count pods of other namespaces only by namespaces or a namespace selector", () => {
    const other: Pod = {
      ...on("a", "x", "db"),
      metadata: { ...on("a", "x", "db").metadata, namespace: "team" },
    };
    const term = { topologyKey: ZONE, labelSelector: { matchLabels: { app: "db" } } };
    const surroundings = {
      ...NO_SURROUNDINGS,
      namespaceLabels: (name: string) => ({ team: name === "team" ? "yes" : "no" }),
    };
    const ask = (extra: object): string => {
      const required = [{ ...term, ...extra }];
      const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
      const snapshot = snapshotOf(THREE, [other], surroundings);
      const pod = podInfo(testPod("p", { affinity: { podAffinity } }));
      return feasibleNodes(pod, snapshot)
        .nodes.map(({ name }) => name)
        .join(" ");
    };
    expect(ask({})).toBe("");
    expect(ask({ namespaces: ["team"] })).toBe("a");
    expect(ask({ namespaceSelector: { matchLabels: { team: "yes" } } })).toBe("a");
    expect(ask({ namespaceSelector: {} })).toBe("a");
  });

  it("ignore pods of another version if matchLabelKeys names the version", () => {
    const labels = { app: "web", version: "2" };
    const old = testPod("old", { nodeName: "a" }, { app: "web", version: "1" });
    const pod = testPod("p", spread({ matchLabelKeys: ["version"] }), labels);
    expect(nodesFor(pod, THREE, [old])).toBe("a b");
  });
});

describe("the message of a pod that fits nowhere", () => {
  function message(pod: Pod, nodes: readonly Node[], placed: readonly Pod[] = []): string {
    const snapshot = snapshotOf(nodes, placed);
    const info = podInfo(pod);
    const result = feasibleNodes(info, snapshot);
    const preemption = findPreemption(info, result, snapshot);
    return unschedulableMessage(result, snapshot.nodes.length, preemption);
  }

  it("says that there are no nodes", () => {
    expect(message(testPod("p"), [])).toBe("no nodes available to schedule pods");
  });

  it("counts the reasons and sorts them as text", () => {
    expect(message(testPod("p", { requests: { cpu: "4100m", memory: "1Gi" } }), THREE)).toBe(
      "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. " +
        "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
    );
  });

  it("distinguishes full nodes from nodes that are too small", () => {
    const big = on("a", "x", "x", {
      containers: [{ name: "m", resources: { requests: { cpu: "3" } } }],
    });
    const nodes = [testNode("a"), testNode("b", { allocatable: { cpu: "1" } })];
    expect(message(testPod("p", { requests: { cpu: "2" } }), nodes, [big])).toBe(
      "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: " +
        "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
    );
  });

  it("names cordoned nodes and missing claims", () => {
    const cordoned = [testNode("a", { unschedulable: true })];
    expect(message(testPod("p"), cordoned)).toBe(
      "0/1 nodes are available: 1 node(s) were unschedulable. " +
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    );
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
    expect(message(testPod("p", { volumes }), [testNode("a")])).toBe(
      '0/1 nodes are available: persistentvolumeclaim "data" not found. not found',
    );
  });

  it("has no words about preemption if the pod allows none", () => {
    expect(
      message(testPod("p", { requests: { cpu: "9" }, preemptionPolicy: "Never" }), [testNode("a")]),
    ).toBe(
      "0/1 nodes are available: 1 Insufficient cpu. " +
        "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
    );
  });

  it("names the nodes that the affinity of a daemon pod excludes", () => {
    const terms = [
      { matchFields: [{ key: "metadata.name", operator: "In", values: ["c"] }] },
    ] as const;
    const required = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
    };
    expect(message(testPod("p", { affinity: { nodeAffinity: required } }), THREE)).toBe(
      "0/3 nodes are available: 1 node(s) had untolerated taint(s), " +
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]. " +
        "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
    );
  });
});
