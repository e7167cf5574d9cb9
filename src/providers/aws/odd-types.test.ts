import { expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import { awsWorld, ec2NodeClass } from "../../testing/aws-world.ts";
import { pool } from "../../testing/builders.ts";
import type { InstanceTypeInfo } from "./api/images-and-types.ts";

type Sizes = Partial<Pick<InstanceTypeInfo, "VCpuInfo" | "MemoryInfo">>;

it.each<[string, Sizes]>([
  ["no vCPUs", { VCpuInfo: { DefaultVCpus: 0 } }],
  ["less than no vCPUs", { VCpuInfo: { DefaultVCpus: -2 } }],
  ["no number of vCPUs", { VCpuInfo: { DefaultVCpus: Number.NaN } }],
  ["no memory", { MemoryInfo: { SizeInMiB: 0 } }],
])("an instance type to which EC2 gives %s is not offered, with a log line", async (_, sizes) => {
  const world = await awsWorld();
  const { ec2 } = world.api;
  const { describeInstanceTypes } = ec2;
  const answer: typeof describeInstanceTypes = async (input) => {
    const page = await describeInstanceTypes.call(ec2, input);
    const InstanceTypes = page.InstanceTypes.map((one) =>
      one.InstanceType === "m5.large" ? { ...one, ...sizes } : one,
    );
    return { ...page, InstanceTypes };
  };
  Object.assign(ec2, { describeInstanceTypes: answer });
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass());
  await world.clock.advance(2_000);
  const classRef = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
  const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef })));
  const names = types.map(({ name }) => name);
  expect(names).toContain("m5.xlarge");
  expect(names).not.toContain("m5.large");
  expect(world.lines.join("\n")).toContain("instance types for which EC2 returns no vCPUs");
  await world.stop();
});
