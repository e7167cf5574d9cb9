import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { type NodeOptions, nodeView, pod, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";

/** Why these nodes refuse the pod, given that there is no NodePool. */
function obstacles(asking: Pod, nodes: readonly (NodeOptions & { readonly pods?: Pod[] })[]) {
  const views = nodes.map(({ pods = [], ...node }) => nodeView({ node, pods }));
  const input = { pods: [asking], pools: [], nodes: views, askedPod: "default/pod" };
  const [unplaced] = solve(schedulingInput(input)).unschedulable;
  return unplaced?.nodes?.map(({ reason, says, nodes: names }) => [reason, says, names]);
}

describe("an existing node does not take a pod", () => {
  it("because of its labels, its taints or too few resources", () => {
    const taint = { key: "team", value: "b", effect: "NoSchedule" as const };
    const asking = pod({ cpu: "3", spec: { nodeSelector: { [ZONE]: "zone-a" } } });
    const busy = (name: string, cpu: string) => ({
      name,
      pods: [pod({ name: `on-${name}`, nodeName: name, cpu })],
    });
    const found = obstacles(asking, [
      busy("a", "2"),
      busy("b", "3500m"),
      { name: "c", labels: { [ZONE]: "zone-b" } },
      { name: "d", taints: [taint] },
    ]);
    expect(found).toEqual([
      ["resources", "too little cpu: 3 requested, at most 2 left", ["a", "b"]],
      ["taints", "the pod does not tolerate the taint team=b:NoSchedule", ["d"]],
      ["requirements", `their labels do not satisfy ${ZONE} In [zone-a]`, ["c"]],
    ]);
  });

  it("because of labels or taints, though it has too little cpu, too: room would not help", () => {
    const taint = { key: "team", value: "b", effect: "NoSchedule" as const };
    const asking = pod({ cpu: "9", spec: { nodeSelector: { [ZONE]: "zone-a" } } });
    const found = obstacles(asking, [
      { name: "a" },
      { name: "b", labels: { [ZONE]: "zone-b" } },
      { name: "c", labels: { [ZONE]: "zone-c" } },
      { name: "d", taints: [taint] },
    ]);
    expect(found).toEqual([
      ["requirements", `their labels do not satisfy ${ZONE} In [zone-a]`, ["b", "c"]],
      ["taints", "the pod does not tolerate the taint team=b:NoSchedule", ["d"]],
      ["resources", "too little cpu: 9 requested, at most 4 left", ["a"]],
    ]);
  });

  it("because it is full, if its labels satisfy one of two terms of node affinity", () => {
    const inZone = (zone: string) => ({
      matchExpressions: [{ key: ZONE, operator: "In" as const, values: [zone] }],
    });
    const nodeSelectorTerms = [inZone("zone-a"), inZone("zone-b")];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
    const found = obstacles(pod({ cpu: "9", spec: { affinity: { nodeAffinity } } }), [
      { name: "a" },
      { name: "b", labels: { [ZONE]: "zone-b" } },
      { name: "c", labels: { [ZONE]: "zone-c" } },
      {
        name: "d",
        labels: { [ZONE]: "zone-c" },
        taints: [{ key: "soft", effect: "PreferNoSchedule" }],
      },
    ]);
    expect(found).toEqual([
      ["requirements", `their labels do not satisfy ${ZONE} In [zone-a]`, ["c", "d"]],
      ["resources", "too little cpu: 9 requested, at most 4 left", ["a", "b"]],
    ]);
  });

  it("because another pod holds its host port or has anti-affinity to it", () => {
    const containers = [
      { name: "main", image: "pause", ports: [{ containerPort: 80, hostPort: 80 }] },
    ];
    const labels = { app: "db" };
    const term = { labelSelector: { matchLabels: labels }, topologyKey: ZONE };
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
    const on = (name: string, spec: Partial<Pod["spec"]>) =>
      pod({ name: `on-${name}`, nodeName: name, spec });
    const found = obstacles(pod({ labels, spec: { containers } }), [
      { name: "a", pods: [on("a", { containers })] },
      {
        name: "b",
        labels: { [ZONE]: "zone-b" },
        pods: [on("b", { affinity: { podAntiAffinity } })],
      },
    ]);
    expect(found).toEqual([
      ["hostPorts", "another pod holds its host port 80", ["a"]],
      [
        "topology",
        `pods that are there keep it away, by their pod anti-affinity over ${ZONE}`,
        ["b"],
      ],
    ]);
  });

  it("because it is full, and it is the only one with pods that the pod must be near", () => {
    const labels = { app: "group" };
    const term = {
      labelSelector: { matchLabels: labels },
      topologyKey: "kubernetes.io/hostname",
    };
    const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
    const spec = { affinity: { podAffinity } };
    const host = (name: string, pods: Pod[] = []) => ({
      name,
      labels: { "kubernetes.io/hostname": name },
      pods,
    });
    const found = obstacles(pod({ labels, cpu: "1", spec }), [
      host("a", [pod({ name: "first", labels, nodeName: "a", cpu: "3500m", spec })]),
      host("b", [pod({ name: "other", nodeName: "b", cpu: "3500m" })]),
      host("c"),
    ]);
    expect(found).toEqual([
      ["topology", "its pod affinity over kubernetes.io/hostname does not allow them now", ["c"]],
      [
        "resources",
        "pods that it must be near run there; too little cpu: 1 requested, at most 500m left",
        ["a"],
      ],
      ["resources", "too little cpu: 1 requested, at most 500m left", ["b"]],
    ]);
  });

  it("but preferred terms are no reason, and only the requested pod is explained", () => {
    const required = { key: ZONE, operator: "In" as const, values: ["zone-b"] };
    const preference = { matchExpressions: [required] };
    const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference }];
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } };
    const asking = pod({ cpu: "9", spec: { affinity } });
    expect(obstacles(asking, [{ name: "a" }])).toEqual([
      ["resources", "too little cpu: 9 requested, at most 4 left", ["a"]],
    ]);
    expect(obstacles(pod({ name: "other", cpu: "9" }), [{ name: "a" }])).toBeUndefined();
  });
});
