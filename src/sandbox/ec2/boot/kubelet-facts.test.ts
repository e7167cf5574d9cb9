import { describe, expect, it } from "vitest";
import { parseUnits } from "../../../base/quantity.ts";
import { Random } from "../../../base/random.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { LaunchTemplateData } from "../../../providers/aws/api/launches.ts";
import type { InstanceEvent } from "../simulated-aws.ts";
import { createSimulatedAws } from "../simulated-aws.ts";
import type { KubeletFacts } from "./kubelet-facts.ts";

const EKS = "/aws/service/eks/optimized-ami/1.34";
const AL2 = `${EKS}/amazon-linux-2/recommended/image_id`;
const AL2_GPU = `${EKS}/amazon-linux-2-gpu/recommended/image_id`;
const AL2_ARM = `${EKS}/amazon-linux-2-arm64/recommended/image_id`;
const BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id";

function script(flags: string): string {
  return `#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '${flags}'`;
}

/** The kubelet of one machine of a type, image and user data. */
async function kubelet(
  type: string,
  parameter: string,
  text: string,
  data: LaunchTemplateData = {},
): Promise<KubeletFacts | undefined> {
  const clock = new VirtualClock();
  const events: InstanceEvent[] = [];
  const aws = createSimulatedAws({
    clock,
    random: new Random("facts"),
    region: "us-east-1",
    clusterName: "demo",
    kubernetesVersion: "1.34",
    onInstance: (event) => events.push(event),
  });
  const LaunchTemplateName = "one";
  const UserData = Buffer.from(text).toString("base64");
  const ImageId = aws.state.parameters.get(parameter) as string;
  const [SubnetId] = [...aws.state.subnets.keys()] as [string];
  await aws.api.ec2.createLaunchTemplate({
    LaunchTemplateName,
    LaunchTemplateData: { ImageId, UserData, ...data },
  });
  const { Errors } = await aws.api.ec2.createFleet({
    Type: "instant",
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName, Version: "$Latest" },
        Overrides: [{ InstanceType: type, SubnetId }],
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: "on-demand" },
  });
  expect(Errors).toEqual([]);
  await clock.advance(10_000);
  return events.at(-1)?.kubelet;
}

describe("the Node of a simulated EC2 instance", () => {
  it("has IP addresses for Windows pods, as a resource that they request", async () => {
    const WINDOWS =
      "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id";
    const text = `<powershell>\n& "C:\\Start-EKSBootstrap.ps1" -EKSClusterName 'demo'\n</powershell>`;
    const { allocatable } = (await kubelet("m5.large", WINDOWS, text)) ?? {};
    expect(allocatable).toMatchObject({ "vpc.amazonaws.com/PrivateIPv4Address": "9" });
  });

  it.each([
    ["striped", " --local-disks raid0", 74_999_999_488],
    ["left alone", "", 20 * 2 ** 30],
  ])(
    "has the instance's own disks for pods if its user data sets them up %s",
    async (_, flag, bytes) => {
      const text = `#!/bin/bash\n/etc/eks/bootstrap.sh demo${flag}`;
      const { capacity } = (await kubelet("m5d.large", AL2, text)) ?? {};
      expect(parseUnits(capacity?.["ephemeral-storage"] ?? "")).toBe(bytes);
    },
  );

  // CPU and pods as the EKS documentation and the operating systems' own tables give them.
  it.each([
    ["t3.small", AL2, "1930m", "11"],
    ["m5.large", AL2, "1930m", "29"],
    ["c5.xlarge", AL2, "3920m", "58"],
    ["m5.4xlarge", AL2, "15890m", "234"],
    ["m6g.large", AL2_ARM, "1930m", "29"],
    ["p5.48xlarge", AL2_GPU, "191450m", "100"],
  ])(
    "of type %s has the CPU and the number of pods that AWS documents",
    async (type, image, cpu, pods) => {
      const facts = await kubelet(type, image, script(""));
      expect(facts?.allocatable).toMatchObject({ cpu, pods });
    },
  );

  it("reserves memory for pods, eviction and the kernel", async () => {
    const facts = await kubelet("m5.large", AL2, script(""));
    const mib = (text: string | undefined): number => (parseUnits(text ?? "") ?? 0) / 2 ** 20;
    const capacity = mib(facts?.capacity["memory"]);
    // A real m5.large reports about 7,725 MiB.
    expect(capacity).toBeGreaterThan(7_600);
    expect(capacity).toBeLessThan(7_800);
    expect(capacity - mib(facts?.allocatable["memory"])).toBe(255 + 11 * 29 + 100);
  });

  it("follows reservations, thresholds and pod limits in the user data", async () => {
    const flags =
      '--max-pods=50 --pods-per-core=10 --kube-reserved="cpu=500m" --eviction-hard="nodefs.available<50%"';
    const facts = await kubelet("m5.large", AL2, script(flags), {
      BlockDeviceMappings: [{ DeviceName: "/dev/xvda", Ebs: { VolumeSize: 100 } }],
    });
    expect(facts?.allocatable).toMatchObject({ cpu: "1500m", pods: "20" });
    expect(parseUnits(facts?.allocatable["ephemeral-storage"] ?? "")).toBe(49 * 2 ** 30);
  });

  it("has pods on Bottlerocket's second volume", async () => {
    const toml = '[settings.kubernetes]\ncluster-name = "demo"\napi-server = "https://x"';
    const facts = await kubelet("m5.large", BOTTLEROCKET, toml, {
      BlockDeviceMappings: [
        { DeviceName: "/dev/xvda", Ebs: { VolumeSize: 4 } },
        { DeviceName: "/dev/xvdb", Ebs: { VolumeSize: 30 } },
      ],
    });
    expect(parseUnits(facts?.capacity["ephemeral-storage"] ?? "")).toBe(30 * 2 ** 30);
    expect(facts?.osImage).toContain("Bottlerocket");
  });

  it("has accelerators only if its image has the drivers", async () => {
    const plain = await kubelet("g5.xlarge", AL2, script(""));
    expect(plain?.capacity["nvidia.com/gpu"]).toBeUndefined();
    const gpu = await kubelet("g5.xlarge", AL2_GPU, script(""));
    expect(gpu?.capacity["nvidia.com/gpu"]).toBe("1");
    const neuron = await kubelet("inf2.xlarge", AL2_GPU, script(""));
    expect(neuron?.capacity).toMatchObject({
      "aws.amazon.com/neuron": "1",
      "aws.amazon.com/neuroncore": "2",
    });
  });

  it("has the name and labels that the cloud provider sets", async () => {
    const facts = await kubelet("m5.large", AL2, script("--node-labels=team=a"));
    expect(facts?.nodeName).toMatch(/^ip-10-0-\d+-\d+\.ec2\.internal$/);
    expect(facts?.labels).toMatchObject({
      team: "a",
      "kubernetes.io/arch": "amd64",
      "kubernetes.io/os": "linux",
      "kubernetes.io/hostname": facts?.nodeName,
      "node.kubernetes.io/instance-type": "m5.large",
      "topology.kubernetes.io/region": "us-east-1",
      "topology.kubernetes.io/zone": "us-east-1a",
      "topology.k8s.aws/zone-id": "use1-az1",
    });
  });
});
