/** Unusual Auto Scaling groups: what the drafted NodePools keep, and which losses a note reports. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { runFromAutoscaler } from "./run-from-autoscaler.ts";

const TAG = "k8s.io/cluster-autoscaler/node-template/";

interface NodeFacts {
  readonly instance: string;
  readonly type: string;
  readonly labels?: object;
}

function node({ instance, type, labels }: NodeFacts): object {
  const zone = "us-east-1a";
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: `node-${instance}`,
      labels: {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": zone,
        "node.kubernetes.io/instance-type": type,
        ...labels,
      },
    },
    spec: { providerID: `aws:///${zone}/${instance}` },
    status: {
      capacity: { cpu: "4", memory: "16Gi", pods: "58" },
      allocatable: { cpu: "3900m", memory: "15Gi", pods: "58" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function pod(name: string, spec: object): object {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: name, controller: true };
  const requests = { cpu: "1", memory: "1Gi" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: name, ownerReferences: [owner] },
    spec: { containers: [{ name: "c", image: "web", resources: { requests } }], ...spec },
    status: { phase: "Running", conditions: [{ type: "PodScheduled", status: "True" }] },
  };
}

const tags = (all: Readonly<Record<string, string>>) =>
  Object.entries(all).map(([Key, Value]) => ({ Key, Value }));
const group = (name: string, more: object) => ({
  AutoScalingGroupName: name,
  MinSize: 0,
  MaxSize: 10,
  DesiredCapacity: 0,
  AvailabilityZones: ["us-east-1a"],
  ...more,
});
const mixed = (overrides: readonly object[], distribution: object = {}) => ({
  MixedInstancesPolicy: {
    LaunchTemplate: { Overrides: overrides },
    InstancesDistribution: distribution,
  },
});

describe("NodePools drafted from unusual Auto Scaling groups", () => {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-odd-groups-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const draft = async (groups: readonly object[], objects: readonly object[] = []) => {
    const files = [join(folder, "groups.json"), join(folder, "cluster.json")] as const;
    writeFileSync(files[0], JSON.stringify({ AutoScalingGroups: groups }));
    writeFileSync(files[1], JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    let text = "";
    await runFromAutoscaler(
      { clusterName: "demo", groups: files[0], filename: [files[1]] },
      (part) => {
        text += part;
      },
    );
    const pools = parseAllDocuments(text)
      .map((one) => one.toJS() as Record<string, unknown>)
      .filter(({ kind }) => kind === "NodePool");
    return { text, pools, said: JSON.stringify(pools) };
  };

  it("match nodes of a plain group by its instances, and price them by how the group buys", async () => {
    const spot = mixed([{ InstanceType: "m5.xlarge" }], { OnDemandPercentageAboveBaseCapacity: 0 });
    const onDemand = { Instances: [{ InstanceId: "i-1", InstanceType: "m5.xlarge" }] };
    const objects = [
      node({ instance: "i-1", type: "m5.xlarge" }),
      pod("web", { nodeName: "node-i-1" }),
    ];
    const price = (text: string) => Number(/Cost now: \$([\d.]+)\/h on 1 node\n/.exec(text)?.[1]);
    const cheap = await draft([group("workers", { ...spot, ...onDemand })], objects);
    const dear = await draft([group("workers", onDemand)], objects);
    expect(cheap.said).toContain('"values":["spot"]');
    expect(dear.said).toContain('"values":["on-demand"]');
    expect(price(cheap.text)).toBeGreaterThan(0);
    expect(price(cheap.text)).toBeLessThan(price(dear.text));
    expect(cheap.text).toMatch(/for the same pods: \$[\d.]+\/h on 1 node\n/);
  });

  it("keep mixed architectures, and a note says which shares are lost", async () => {
    const policy = mixed([{ InstanceType: "m5.xlarge" }, { InstanceType: "m6g.xlarge" }], {
      OnDemandBaseCapacity: 2,
      OnDemandPercentageAboveBaseCapacity: 25,
    });
    const labels = { "eks.amazonaws.com/nodegroup": "mixed" };
    const { said, text } = await draft(
      [group("eks-mixed-1", { ...policy, Tags: tags({ "eks:nodegroup-name": "mixed" }) })],
      [node({ instance: "i-1", type: "m5.xlarge", labels })],
    );
    expect(said).toContain('"kubernetes.io/arch","operator":"In","values":["amd64","arm64"]');
    expect(text).toContain("the group kept 2 on-demand nodes and 25 % of the others");
    expect(text).toContain("spread pods over karpenter.sh/capacity-type");
  });

  it("convert weighted sizes to limits in units of capacity", async () => {
    const policy = mixed([
      { InstanceType: "c5.xlarge", WeightedCapacity: "4" },
      { InstanceType: "c5.4xlarge", WeightedCapacity: "16" },
    ]);
    const { pools, text } = await draft([group("units", { ...policy, MinSize: 8, MaxSize: 64 })]);
    // 64 units are 16 nodes with 4 CPUs, or 4 with 16.
    expect(pools).toMatchObject([{ spec: { limits: { cpu: "64" } } }]);
    expect(text).toContain("the group had at least 8 units of capacity");
    expect(text).toContain("a NodePool has no weights for types and goes by price");
  });

  it("come with a note that names the attributes by which a group chose its types", async () => {
    const wanted = { VCpuCount: { Min: 2, Max: 8 }, MemoryMiB: { Min: 4096 } };
    const { text } = await draft([group("any", mixed([{ InstanceRequirements: wanted }]))]);
    expect(text).toContain("by attributes (MemoryMiB, VCpuCount), which are not translated");
    expect(text).toContain("karpenter.k8s.aws/instance-cpu");
  });

  it("keep labels of EKS managed node groups that pods select, or a note says what to select instead", async () => {
    const labels = {
      "eks.amazonaws.com/nodegroup": "infra",
      "eks.amazonaws.com/capacityType": "SPOT",
      "node-role.kubernetes.io/infra": "",
      "feature.node.kubernetes.io/cpu-cpuid.AVX": "true",
    };
    const required = (key: string, values: readonly string[]) => ({
      nodeName: "node-i-1",
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values }] }],
          },
        },
      },
    });
    const { text, pools } = await draft(
      [],
      [
        node({ instance: "i-1", type: "m5.xlarge", labels }),
        pod("a", required("eks.amazonaws.com/capacityType", ["SPOT"])),
        pod("b", { nodeName: "node-i-1", nodeSelector: { "node-role.kubernetes.io/infra": "" } }),
      ],
    );
    expect(pools).toMatchObject([
      { spec: { template: { metadata: { labels: { "node-role.kubernetes.io/infra": "" } } } } },
    ]);
    expect(text).not.toContain("cpu-cpuid.AVX");
    expect(text).toContain("let them select karpenter.sh/capacity-type=spot");
    expect(text).toContain("# - without a place: default/a");
  });

  it("take taints and labels of an empty GPU group from its tags, and a note names what no NodePool can have", async () => {
    const { pools, text } = await draft([
      group("gpu", {
        ...mixed([{ InstanceType: "g5.2xlarge" }]),
        Tags: tags({
          [`${TAG}taint/nvidia.com/gpu`]: "true:NoSchedule",
          [`${TAG}label/k8s.amazonaws.com/accelerator`]: "nvidia-a10g",
          [`${TAG}label/node-role.kubernetes.io/gpu`]: "yes",
          [`${TAG}label/topology.kubernetes.io/zone`]: "us-east-1a",
          [`${TAG}resources/nvidia.com/gpu`]: "1",
          [`${TAG}resources/example.com/fuse`]: "10",
          [`${TAG}resources/ephemeral-storage`]: "200Gi",
          [`${TAG}autoscaling-options/scaledownunneededtime`]: "1h",
          [`${TAG}autoscaling-options/scaledownutilizationthreshold`]: "0.3",
        }),
      }),
    ]);
    expect(pools).toMatchObject([
      {
        spec: {
          disruption: { consolidateAfter: "1h" },
          template: {
            metadata: {
              labels: {
                "k8s.amazonaws.com/accelerator": "nvidia-a10g",
                "node-role.kubernetes.io/gpu": "yes",
              },
            },
            spec: { taints: [{ key: "nvidia.com/gpu", value: "true", effect: "NoSchedule" }] },
          },
        },
      },
    ]);
    expect(text).toContain("the tag resources/example.com/fuse=10 is lost: a NodeOverlay");
    expect(text).toContain("resources/ephemeral-storage=200Gi is lost: set blockDeviceMappings");
    expect(text).toContain("scaledownutilizationthreshold=0.3 is lost: a NodePool has no such");
    expect(text).not.toContain("resources/nvidia.com/gpu");
    expect(text).not.toContain("scaledownunneededtime");
  });

  it("get their weights from the priority expander", async () => {
    const expander = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "cluster-autoscaler-priority-expander", namespace: "kube-system" },
      data: { priorities: "10:\n  - .*\n50:\n  - (?i)SPOT\n70:\n  - '(?!x)'\n" },
    };
    const types = mixed([{ InstanceType: "m5.xlarge" }, { InstanceType: "m5.large" }]);
    const { pools, text } = await draft(
      [group("a-spot", types), group("on-demand", types)],
      [expander],
    );
    const weights = pools.map(({ metadata, spec }) => [
      (metadata as { name: string }).name,
      (spec as { weight?: number }).weight,
    ]);
    expect(weights).toEqual([
      ["a-spot", 2],
      ["on-demand", 1],
    ]);
    expect(text).toContain("weights of NodePools are those of the priority expander");
    expect(text).toContain("priority 70 of ConfigMap cluster-autoscaler-priority-expander is left");
  });
});
