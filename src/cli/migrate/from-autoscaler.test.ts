/** Node groups of EKS and of plain Auto Scaling groups become NodePools that `plan` takes, with notes and prices. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Node } from "../../apis/core/node.ts";
import { nodeGroups } from "./node-groups.ts";
import { runFromAutoscaler } from "./run-from-autoscaler.ts";
import { readScalingGroups } from "./scaling-groups.ts";

const node = (name: string, labels: object, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name,
    labels: {
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/os": "linux",
      "kubernetes.io/hostname": name,
      "topology.kubernetes.io/zone": "us-east-1a",
      "node.kubernetes.io/instance-type": "m5.4xlarge",
      ...labels,
    },
  },
  spec: { providerID: `aws:///us-east-1a/i-${name}`, ...more },
  status: {
    capacity: { cpu: "16", memory: "64Gi", pods: "110" },
    allocatable: { cpu: "15800m", memory: "60Gi", pods: "110" },
    conditions: [{ type: "Ready", status: "True" }],
  },
});

const pod = (
  name: string,
  nodeName: string,
  more: { annotations?: object; spec?: object } = {},
) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "default",
    uid: name,
    ...(more.annotations && { annotations: more.annotations }),
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "w", controller: true },
    ],
  },
  spec: {
    nodeName,
    containers: [{ name: "c", image: "web", resources: { requests: { cpu: "1", memory: "1Gi" } } }],
    ...more.spec,
  },
  status: { phase: "Running", conditions: [{ type: "PodScheduled", status: "True" }] },
});

const EKS = {
  "eks.amazonaws.com/nodegroup": "Web_Group",
  "eks.amazonaws.com/capacityType": "ON_DEMAND",
  team: "a",
};
const TAINT = { key: "dedicated", value: "web", effect: "NoSchedule" };
const OBJECTS = [
  node("one", EKS, {
    taints: [TAINT, { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }],
  }),
  node("two", { ...EKS, only: "two" }, { taints: [TAINT] }),
  node(
    "karpenters",
    { "karpenter.sh/nodepool": "x", "eks.amazonaws.com/nodegroup": "Web_Group" },
    { unschedulable: true },
  ),
  node("alone", {}, { unschedulable: true }),
  pod("a", "one", {
    annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" },
    spec: {
      tolerations: [{ key: "dedicated", operator: "Exists" }],
      nodeSelector: { "topology.kubernetes.io/zone": "us-east-1a" },
    },
  }),
  pod("b", "two", { spec: { tolerations: [{ key: "dedicated", operator: "Exists" }] } }),
];

const GROUPS = {
  AutoScalingGroups: [
    {
      AutoScalingGroupName: "eks-web-1234",
      MinSize: 2,
      MaxSize: 5,
      DesiredCapacity: 2,
      AvailabilityZones: ["us-east-1a", "us-east-1b"],
      Tags: [{ Key: "eks:nodegroup-name", Value: "Web_Group" }],
      MixedInstancesPolicy: {
        LaunchTemplate: {
          Overrides: [{ InstanceType: "m5.large" }, { InstanceType: "m5.4xlarge" }],
        },
        InstancesDistribution: { OnDemandBaseCapacity: 0, OnDemandPercentageAboveBaseCapacity: 50 },
      },
    },
    {
      AutoScalingGroupName: "batch",
      MinSize: 0,
      MaxSize: 3,
      DesiredCapacity: 0,
      AvailabilityZones: ["us-east-1a"],
      Tags: [
        { Key: "k8s.io/cluster-autoscaler/node-template/label/team", Value: "batch" },
        { Key: "k8s.io/cluster-autoscaler/node-template/taint/batch", Value: "yes:NoExecute" },
      ],
      MixedInstancesPolicy: {
        LaunchTemplate: { Overrides: [{ InstanceType: "c5.xlarge" }] },
        InstancesDistribution: { OnDemandPercentageAboveBaseCapacity: 0 },
      },
    },
  ],
};

describe("NodePools drafted from node groups", () => {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-autoscaler-"));
  const at = (name: string) => join(folder, name);
  const run = async (flags: { groups?: string; filename?: readonly string[] } = {}) => {
    let text = "";
    await runFromAutoscaler(
      { clusterName: "demo", filename: [at("cluster.json")], ...flags },
      (part) => {
        text += part;
      },
    );
    const objects = parseAllDocuments(text).map((one) => one.toJS() as Record<string, unknown>);
    return { text, objects };
  };

  beforeAll(() => {
    writeFileSync(
      at("cluster.json"),
      JSON.stringify({ apiVersion: "v1", kind: "List", items: OBJECTS }),
    );
    writeFileSync(at("groups.json"), JSON.stringify(GROUPS));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("get labels, taints, types and zones from the nodes that name a group", async () => {
    const { objects, text } = await run();
    expect(objects.map(({ kind, metadata }) => [kind, metadata])).toEqual([
      ["EC2NodeClass", { name: "default" }],
      ["NodePool", { name: "web-group" }],
    ]);
    expect(objects[1]).toMatchObject({
      spec: {
        template: {
          metadata: { labels: { team: "a" } },
          spec: {
            taints: [TAINT],
            requirements: [
              { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
              { key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.4xlarge"] },
              { key: "topology.kubernetes.io/zone", operator: "In", values: ["us-east-1a"] },
              { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
            ],
          },
        },
      },
    });
    expect(text).toContain(
      '# - 1 pod with cluster-autoscaler.kubernetes.io/safe-to-evict: "false"',
    );
    expect(text).toContain("no limits, as the group's largest size is not known; give --groups");
  });

  it("come with a comparison of costs: two half-empty nodes become one", async () => {
    const { text } = await run();
    const [, now, nodes] = /Cost now: \$(\d+\.\d+)\/h on (\d+) nodes/.exec(text) ?? [];
    const [, then, fewer] = /for the same pods: \$(\d+\.\d+)\/h on (\d+) nodes?/.exec(text) ?? [];
    expect([nodes, fewer]).toEqual(["2", "1"]);
    expect(Number(now)).toBeGreaterThan(0);
    expect(Number(then)).toBeCloseTo(Number(now) / 2, 4);
    expect(text).not.toContain("without a place");
  });

  it("get sizes, spot and further types from Auto Scaling groups, including empty ones", async () => {
    const { objects, text } = await run({ groups: at("groups.json") });
    expect(objects.map(({ metadata }) => (metadata as { name: string }).name)).toEqual([
      "default",
      "web-group",
      "batch",
    ]);
    const named = (name: string) =>
      objects.find(({ metadata }) => (metadata as { name: string }).name === name);
    expect(named("web-group")).toMatchObject({ spec: { limits: { cpu: "80" } } });
    expect(JSON.stringify(named("web-group"))).toContain('["on-demand","spot"]');
    expect(JSON.stringify(named("web-group"))).toContain('["m5.4xlarge","m5.large"]');
    expect(named("batch")).toMatchObject({
      spec: {
        limits: { cpu: "12" },
        template: {
          metadata: { labels: { team: "batch" } },
          spec: { taints: [{ key: "batch", value: "yes", effect: "NoExecute" }] },
        },
      },
    });
    expect(text).toContain("the group had at least 2 nodes; a NodePool has no minimum");
    expect(text).toContain("both spot and on-demand");
  });

  it("come with a warning about pods that select a label which Karpenter's nodes will not have", async () => {
    const selecting = pod("c", "one", {
      spec: { nodeSelector: { "eks.amazonaws.com/nodegroup": "Web_Group" } },
    });
    writeFileSync(
      at("selecting.json"),
      JSON.stringify({ apiVersion: "v1", kind: "List", items: [...OBJECTS, selecting] }),
    );
    const { text } = await run({ filename: [at("selecting.json")] });
    expect(text).toContain("pods select eks.amazonaws.com/nodegroup=Web_Group");
    expect(text).not.toContain("pods select topology.kubernetes.io/zone");
    expect(text).toContain("# - without a place: default/c");
  });

  const written = (name: string, groups: readonly object[]) => {
    writeFileSync(at(name), JSON.stringify({ AutoScalingGroups: groups }));
    return at(name);
  };
  const tags = (all: Readonly<Record<string, string>>) =>
    Object.entries(all).map(([Key, Value]) => ({ Key, Value }));

  it("have unique names, and a note if the types of a group are not known", async () => {
    const named = ["A_b", "a.b", "__"].map((one) => ({ AutoScalingGroupName: one }));
    const { objects, text } = await run({ groups: written("names.json", named) });
    const names = objects.map(({ metadata }) => (metadata as { name: string }).name).sort();
    expect(names).toEqual(["a-b", "a-b-2", "default", "group", "web-group"]);
    for (const name of ["a-b", "a-b-2", "group"])
      expect(text).toContain(`# - NodePool ${name}: any instance type and no limits, as no node`);
    expect(text).not.toContain("NodePool web-group: any instance type");
  });

  it("leave out Auto Scaling groups of other clusters, with a note", async () => {
    const groups = written("others.json", [
      { AutoScalingGroupName: "x", Tags: tags({ "kubernetes.io/cluster/staging": "owned" }) },
      { AutoScalingGroupName: "y", Tags: tags({ "eks:cluster-name": "staging" }) },
      { AutoScalingGroupName: "z", Tags: tags({ "k8s.io/cluster-autoscaler/enabled": "true" }) },
      {
        AutoScalingGroupName: "own",
        Tags: tags({ "eks:cluster-name": "demo", "k8s.io/cluster-autoscaler/demo": "owned" }),
      },
    ]);
    const { objects, text } = await run({ groups });
    const names = objects.map(({ metadata }) => (metadata as { name: string }).name).sort();
    expect(names).toEqual(["default", "own", "web-group", "z"]);
    expect(text).toContain("# - left out, as their tags name other clusters: x, y");
  });

  it("get no taint from a tag that Cluster Autoscaler would ignore", async () => {
    const prefix = "k8s.io/cluster-autoscaler/node-template/taint/";
    const groups = written("taints.json", [
      {
        AutoScalingGroupName: "t",
        Tags: tags({ [`${prefix}a`]: "NoSchedule", [`${prefix}b`]: ":NoSchedule" }),
      },
    ]);
    const { objects } = await run({ groups });
    const pool = objects.find(({ metadata }) => (metadata as { name: string }).name === "t");
    expect(pool).toMatchObject({
      spec: { template: { spec: { taints: [{ key: "b", effect: "NoSchedule" }] } } },
    });
  });

  it("leave out nodes without a group and nodes of Karpenter", () => {
    const groups = nodeGroups(
      OBJECTS.filter(({ kind }) => kind === "Node") as unknown as Node[],
      [],
    );
    expect(
      groups.map(({ name, nodes }) => [name, nodes.map(({ metadata }) => metadata.name)]),
    ).toEqual([["Web_Group", ["one", "two"]]]);
  });

  it.each([
    [{}, "no AutoScalingGroups in it"],
    [{ AutoScalingGroups: [{}] }, "AutoScalingGroups[0] has no AutoScalingGroupName"],
  ])("need a valid file of groups, and any other file is refused: %j", (value, why) => {
    expect(() => readScalingGroups("groups.json", value)).toThrow(why);
  });

  it("are not made if there is no group, and the error says so", async () => {
    writeFileSync(at("none.json"), JSON.stringify(node("alone", {})));
    await expect(run({ filename: [at("none.json")] })).rejects.toThrow("no node group was found");
  });
});
