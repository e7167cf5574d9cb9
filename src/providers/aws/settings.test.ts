import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import type { SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import { type AwsWorld, awsClaim, awsWorld, ec2NodeClass } from "../../testing/aws-world.ts";
import { pool } from "../../testing/builders.ts";
import type { DescribeImagesInput } from "./api/images-and-types.ts";
import type { GetParameterInput } from "./api/ssm.ts";
import type { AwsSettings } from "./parts.ts";

const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const MIB = 2 ** 20;

let world: AwsWorld;
afterEach(() => world.stop());

async function begin(
  settings: Partial<AwsSettings>,
  prepare: (aws: SimulatedAws) => void = () => undefined,
): Promise<void> {
  world = await awsWorld(settings, { prepare });
  const amiSelectorTerms = [{ alias: "bottlerocket@latest" }];
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass({ amiSelectorTerms }));
  await world.clock.advance(1_000);
}

describe("settings of the AWS provider", () => {
  it.each([
    ["DescribeImages", "amiRefreshMs"],
    ["DescribeSubnets", "subnetRefreshMs"],
    ["DescribeSecurityGroups", "securityGroupRefreshMs"],
  ] as const)("decide how often %s is called: %s", async (action, setting) => {
    await begin({ [setting]: 300_000 });
    const calls = (): number => world.aws.journal.calls({ action }).length;
    const first = calls();
    await world.clock.advance(240_000);
    expect(calls()).toBe(first);
    await world.clock.advance(120_000);
    expect(calls()).toBeGreaterThan(first);
  });

  it("decide whether EKS gives the version by which images are found", async () => {
    const upgraded = (aws: SimulatedAws): object =>
      Object.assign(aws.state.cluster, { version: "1.31" });
    await begin({ eksControlPlane: true }, upgraded);
    const asked = (): string =>
      world.aws.journal.inputs<GetParameterInput>("GetParameter").at(-1)?.Name ?? "";
    expect(asked()).toContain("/aws-k8s-1.31");
    await world.stop();
    await begin({}, upgraded);
    expect(asked()).toContain("/aws-k8s-1.34");
  });

  it("put the cluster's version into names and parameters of images", async () => {
    world = await awsWorld({}, { minor: 35 });
    const amiSelectorTerms = [
      { name: "own-{kubernetesVersion}-*", owner: "self" },
      { ssmParameter: "/own/{kubernetesVersion}/{kubernetesVersion}-image" },
    ];
    const spec = { amiFamily: "AL2023", amiSelectorTerms };
    await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(spec));
    await world.clock.advance(1_000);
    const parameters = world.aws.journal.inputs<GetParameterInput>("GetParameter");
    expect(parameters.map(({ Name }) => Name)).toContain("/own/1.35/1.35-image");
    const names = world.aws.journal
      .inputs<DescribeImagesInput>("DescribeImages")
      .flatMap(({ Filters = [] }) => Filters.filter(({ Name }) => Name === "name"))
      .flatMap(({ Values }) => Values);
    expect(names).toContain("own-1.35-*");
  });

  it("turn off price requests and the sweep of instance profiles in a VPC without internet", async () => {
    const asked = (): number => world.aws.journal.calls({ action: "GetProducts" }).length;
    await begin({ isolatedVpc: true });
    expect(asked()).toBe(0);
    await world.stop();
    await begin({});
    expect(asked()).toBeGreaterThan(0);
  });

  it.each([
    [{}, "m5.large", { pods: 29, memory: 7_577 }],
    [{ reservedEnis: 1 }, "m5.large", { pods: 20, memory: 7_577 }],
    [{ vmMemoryOverheadPercent: 0 }, "m5.large", { pods: 29, memory: 8_192 }],
  ])("change the capacity of an instance type: %j", async (settings, name, { pods, memory }) => {
    await begin(settings);
    const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
    const capacity = types.find((one) => one.name === name)?.capacity ?? {};
    expect([capacity["pods"], Math.floor((capacity["memory"] ?? 0) / MIB)]).toEqual([pods, memory]);
  });

  it("set the certificate authority that nodes trust", async () => {
    await begin({ clusterCaBundle: "b3Vycw==" });
    await world.settle(world.cloud.create(awsClaim([])));
    const userData = Buffer.from(world.templates()[0]?.UserData ?? "", "base64").toString();
    expect(userData).toContain('cluster-certificate = "b3Vycw=="');
    const volumes = world.templates()[0]?.BlockDeviceMappings ?? [];
    // In v1beta1 the first volume had 4 GiB (test/seeds/s2-pools.test.ts).
    expect(volumes.map(({ Ebs }) => Ebs?.VolumeSize)).toEqual([6, 20]);
  });
});
