import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../../apis/aws/ec2nodeclass.ts";
import type { SimulatedAws } from "../../../sandbox/ec2/simulated-aws.ts";
import { type AwsWorld, awsClaim, awsWorld, ec2NodeClass } from "../../../testing/aws-world.ts";
import type { AwsSettings } from "../parts.ts";

let world: AwsWorld;
afterEach(() => world.stop());

async function begin(
  spec: Partial<EC2NodeClass["spec"]>,
  settings: Partial<AwsSettings> = {},
  prepare: (aws: SimulatedAws) => void = () => undefined,
): Promise<void> {
  world = await awsWorld(settings, { prepare });
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(spec));
  await world.clock.advance(1_000);
}

function conditionOf(type: string): string {
  const { status } = world.kube.find(EC2_NODE_CLASS, "default") as EC2NodeClass;
  const found = status?.conditions?.find((one) => one.type === type);
  return `${found?.status} ${found?.reason}: ${found?.message}`;
}

const OPEN = { kubeletExpressions: true };
const BOTTLEROCKET = { amiSelectorTerms: [{ alias: "bottlerocket@latest" }] };

describe("an EC2NodeClass with a fault in its fields is not ready", () => {
  it.each<[string, Partial<EC2NodeClass["spec"]>, Partial<AwsSettings>, string]>([
    [
      "for expressions while their feature gate is off",
      { kubelet: { maxPods: "vcpus * 8", kubeReserved: { cpu: "vcpus" } } },
      {},
      "KubeletExpressionsDisabled: spec.kubelet.maxPods, spec.kubelet.kubeReserved.cpu: expressions need the gate",
    ],
    [
      "for an invalid expression",
      { kubelet: { maxPods: "cores * 8" } },
      OPEN,
      "KubeletExpressionInvalid: spec.kubelet.maxPods: Unknown variable: cores",
    ],
    [
      "for an expression without a result for some instance type",
      { kubelet: { maxPods: "58 / (vcpus - 2)" } },
      OPEN,
      "KubeletExpressionEvaluationFailed: spec.kubelet.maxPods: division by zero (c5.large)",
    ],
    [
      "for each kubelet setting that is unknown or ignored",
      {
        kubelet: { maxPod: 10, seccompDefault: "yes", shutdownGracePeriod: "-5s" },
      },
      {},
      'InvalidKubeletConfiguration: spec.kubelet.maxPod: KubeletConfiguration v1beta1 has no such field; mind its spelling; spec.kubelet.seccompDefault: "yes" is not true or false; spec.kubelet.shutdownGracePeriod: "-5s" is not a duration such as 1m30s',
    ],
    [
      "for a DNS server without an address",
      { kubelet: { clusterDNS: ["10.0.0.10", "fd01::a", "10.0.0.300"] } },
      {},
      'InvalidKubeletConfiguration: spec.kubelet.clusterDNS[2]: "10.0.0.300" is not an IP address',
    ],
    [
      "for each volume that EBS cannot create",
      {
        blockDeviceMappings: [
          { deviceName: "/dev/xvda", ebs: { volumeType: "gp2", volumeSize: "50Gi", iops: 3_000 } },
          {
            deviceName: "/dev/xvdb",
            ebs: { volumeType: "io2", volumeSize: "50Gi", throughput: 125 },
          },
          { deviceName: "/dev/xvdc", ebs: { volumeType: "gp3", volumeSize: "50Gi", iops: 3_000 } },
        ],
      },
      {},
      "BlockDeviceMappingsInvalid: spec.blockDeviceMappings[0].ebs.iops: 3000, but volumes of type gp2 take none; remove it, or use gp3; spec.blockDeviceMappings[1].ebs.throughput: 125, but volumes of type io2 take none; remove it, or use gp3; spec.blockDeviceMappings[1].ebs.iops: volumes of type io2 need it; give a number",
    ],
    [
      "for a tag that is reserved for AWS",
      { tags: { "aws:owner": "me" } },
      {},
      'TagValidationFailed: "aws:owner" tag does not pass tag validation requirements: spec.tags may not hold /^aws:/i; remove the key',
    ],
    [
      "for invalid nested kubelet settings",
      {
        kubelet: {
          authentication: { webhook: { enabeld: true } },
          evictionMinimumReclaim: { "memory.free": "1Gi" },
          featureGates: { UserNamespacesSupport: "true" },
          logging: { flushFrequency: 5, verbosity: "high" },
          reservedMemory: [{ numaNode: 0, limits: { memory: "1GiB" } }],
          staticPodURLHeader: { Authorization: "Bearer hunter2" },
          volumeStatsAggPeriod: "-1s",
        },
      },
      {},
      [
        "InvalidKubeletConfiguration: spec.kubelet.authentication.webhook.enabeld: KubeletConfiguration v1beta1 has no such field; mind its spelling",
        'spec.kubelet.featureGates[UserNamespacesSupport]: "true" is not true or false',
        'spec.kubelet.logging.verbosity: "high" is not a whole number',
        'spec.kubelet.reservedMemory[0].limits[memory]: "1GiB" is not an amount such as 500Mi',
        "spec.kubelet.staticPodURLHeader[Authorization]: what it holds is not a list",
        "spec.kubelet.evictionMinimumReclaim[memory.free]: no such signal; it is one of imagefs.available",
      ].join("; "),
    ],
    [
      "for taints that only the NodePool may set",
      { kubelet: { registerWithTaints: [{ key: "a", effect: "NoSchedule" }] } },
      {},
      "InvalidKubeletConfiguration: spec.kubelet.registerWithTaints: taints come from the NodePool",
    ],
    [
      "for kubelet settings that its images ignore",
      { ...BOTTLEROCKET, kubelet: { seccompDefault: true } },
      {},
      "UnsupportedKubeletConfiguration: spec.kubelet.seccompDefault: Bottlerocket does not read it",
    ],
    [
      "for an invalid threshold and an invalid grace period",
      {
        kubelet: {
          evictionHard: { "memory.available": "150%", "nodefs.available": "lots" },
          evictionSoft: { "memory.available": "5%" },
          evictionSoftGracePeriod: { "memory.available": "soon" },
        },
      },
      {},
      'InvalidKubeletConfiguration: spec.kubelet.evictionHard[memory.available]: "150%" is neither',
    ],
    [
      "for podsPerCore with Bottlerocket",
      { ...BOTTLEROCKET, kubelet: { podsPerCore: 4 } },
      {},
      "UnsupportedKubeletConfiguration: spec.kubelet.podsPerCore: Bottlerocket does not read it",
    ],
    [
      "for two DNS servers with an image family that reads one",
      { ...BOTTLEROCKET, kubelet: { clusterDNS: ["10.0.0.10", "10.0.0.11"] } },
      {},
      "UnsupportedKubeletConfiguration: spec.kubelet.clusterDNS: Bottlerocket reads one address only",
    ],
    [
      "for user data that cannot be merged",
      { ...BOTTLEROCKET, userData: "[settings" },
      {},
      "UserDataInvalid: ",
    ],
    [
      "for user data that is too long for EC2",
      { userData: `#!/bin/sh\n# ${"x".repeat(16_384)}` },
      {},
      "UserDataSizeLimitExceeded: spec.userData: ",
    ],
  ])("%s", async (_, spec, settings, text) => {
    await begin(spec, settings);
    expect(conditionOf("ValidationSucceeded")).toContain(`False ${text}`);
    expect(conditionOf("Ready")).toContain("False");
    await expect(world.settle(world.cloud.create(awsClaim([])))).rejects.toThrow("is not ready");
  });

  it("for an alias without images for this Kubernetes version", async () => {
    await begin({ amiSelectorTerms: [{ alias: "windows2025@latest" }] });
    expect(conditionOf("AMIsReady")).toBe(
      "False UnsupportedAlias: there are no Windows 2025 images for Kubernetes 1.34, the first ones are for 1.35; use windows2022",
    );
  });

  it("for AL2023 if EKS does not know the cluster", async () => {
    const refused = {
      code: "ResourceNotFoundException",
      message: "No cluster found.",
      status: 404,
    };
    await begin({}, {}, ({ faults }) => void faults.failCalls({ service: "eks", ...refused }));
    expect(conditionOf("ValidationSucceeded")).toMatch(
      /False ClusterCIDRResolutionFailed: .*No cl/,
    );
  });
});

describe("kubelet settings beyond the typed fields", () => {
  it("reach the nodes of an image that reads them, as written", async () => {
    const memorySwap = { swapBehavior: "LimitedSwap" };
    await begin({ kubelet: { seccompDefault: true, shutdownGracePeriod: "30s", memorySwap } });
    await world.settle(world.cloud.create(awsClaim([])));
    const text = Buffer.from(world.templates().at(-1)?.UserData ?? "", "base64").toString();
    expect(text).toContain("      seccompDefault: true\n");
    expect(text).toContain("      shutdownGracePeriod: 30s\n");
    expect(text).toContain("      memorySwap:\n        swapBehavior: LimitedSwap\n");
  });
});

describe("kubelet expressions of an EC2NodeClass", () => {
  it("give the same capacity in the plan and in the node's settings, for each type", async () => {
    const kubelet = { maxPods: "vcpus * 7", kubeReserved: { cpu: "vcpus * 25" } };
    await begin({ kubelet }, OPEN);
    const values = ["m5.large", "m5.xlarge"];
    const key = "node.kubernetes.io/instance-type";
    for (const value of values) {
      const claim = awsClaim([{ key, operator: "In", values: [value] }]);
      const launched = await world.settle(world.cloud.create(claim));
      await world.clock.advance(10_000);
      const node = world.instances.filter((one) => one.type === "running").at(-1)?.kubelet;
      expect(node?.allocatable).toMatchObject({
        pods: value === "m5.large" ? "14" : "28",
        cpu: value === "m5.large" ? "1950m" : "3900m",
      });
      expect(node?.allocatable["cpu"]).toBe(launched.status?.allocatable?.["cpu"]);
    }
    expect(new Set(world.templates().map((one) => one.UserData)).size).toBe(2);
  });
});
