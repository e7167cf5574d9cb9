import { beforeEach, describe, expect, it } from "vitest";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { AwsError, allPages } from "../../providers/aws/api/call.ts";
import type { Instance } from "../../providers/aws/api/instances.ts";
import type {
  CreateFleetInput,
  FleetOverride,
  LaunchTemplateData,
} from "../../providers/aws/api/launches.ts";
import { spotPool } from "./market/prices.ts";
import type { InstanceEvent, SimulatedAws } from "./simulated-aws.ts";
import { createSimulatedAws } from "./simulated-aws.ts";

const CLUSTER = "karpenter-demo";
const AL2023 =
  "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id";

let clock: VirtualClock;
let events: InstanceEvent[];
let aws: SimulatedAws;

beforeEach(() => {
  clock = new VirtualClock();
  events = [];
  aws = create();
});

function create(): SimulatedAws {
  return createSimulatedAws({
    clock,
    random: new Random("seed"),
    region: "us-west-2",
    clusterName: CLUSTER,
    kubernetesVersion: "v1.34.1",
    onInstance: (event) => events.push(event),
  });
}

function nodeConfig(cluster = CLUSTER): string {
  const document = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: ${cluster}, apiServerEndpoint: "https://x", certificateAuthority: "", cidr: 10.0.0.0/16}
  kubelet:
    config:
      maxPods: 29
      registerWithTaints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
    flags: ['--node-labels="karpenter.sh/nodepool=default,team=a"']
`;
  return Buffer.from(
    `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="//"\r\n\r\n--//\r\nContent-Type: application/node.eks.aws\r\n\r\n${document}\r\n--//--\r\n`,
  ).toString("base64");
}

async function template(data: Partial<LaunchTemplateData> = {}, name = "lt-one"): Promise<void> {
  const { Parameter } = await aws.api.ssm.getParameter({ Name: AL2023 });
  const { SecurityGroups } = await aws.api.ec2.describeSecurityGroups({});
  await aws.api.ec2.createLaunchTemplate({
    LaunchTemplateName: name,
    LaunchTemplateData: {
      ImageId: Parameter.Value,
      UserData: nodeConfig(),
      NetworkInterfaces: [{ DeviceIndex: 0, Groups: SecurityGroups.map((sg) => sg.GroupId) }],
      IamInstanceProfile: { Name: `KarpenterNodeInstanceProfile-${CLUSTER}` },
      ...data,
    },
  });
}

function subnetIds(): string[] {
  return [...aws.state.subnets.keys()];
}

function fleet(overrides: readonly FleetOverride[], change: Partial<CreateFleetInput> = {}) {
  return aws.api.ec2.createFleet({
    Type: "instant",
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: "lt-one", Version: "$Latest" },
        Overrides: overrides,
      },
    ],
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: "on-demand" },
    OnDemandOptions: { AllocationStrategy: "lowest-price" },
    ...change,
  });
}

function overrides(...types: string[]): FleetOverride[] {
  return types.flatMap((InstanceType) =>
    subnetIds().map((SubnetId) => ({ InstanceType, SubnetId })),
  );
}

async function instances(): Promise<Instance[]> {
  const { Reservations } = await aws.api.ec2.describeInstances({
    Filters: [{ Name: "tag-key", Values: ["aws:ec2:fleet-id"] }],
  });
  return Reservations.flatMap((reservation) => [...reservation.Instances]);
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return error instanceof AwsError ? error.code : String(error);
  }
  return "ok";
}

describe("the simulated AWS account at its start", () => {
  it("has three tagged subnets, two security groups and two unmanaged m5.large", async () => {
    const filter = (Name: string, Value: string) => ({ Filters: [{ Name, Values: [Value] }] });
    const discovery = filter("tag:karpenter.sh/discovery", CLUSTER);
    expect((await aws.api.ec2.describeSubnets(discovery)).Subnets).toHaveLength(3);
    expect((await aws.api.ec2.describeSecurityGroups(discovery)).SecurityGroups).toHaveLength(2);
    const owned = filter("tag-key", `kubernetes.io/cluster/${CLUSTER}`);
    expect((await aws.api.ec2.describeSubnets(owned)).Subnets).toHaveLength(3);
    expect(aws.nodeGroup.map((node) => node.labels["topology.kubernetes.io/zone"])).toEqual([
      "us-west-2a",
      "us-west-2b",
    ]);
    expect(aws.nodeGroup[0]?.allocatable["cpu"]).toBe("1930m");
  });

  it("publishes one image for each family and architecture in SSM", async () => {
    const paths = [
      "/aws/service/eks/optimized-ami/1.34/amazon-linux-2/recommended/image_id",
      "/aws/service/eks/optimized-ami/1.34/amazon-linux-2-gpu/recommended/image_id",
      "/aws/service/bottlerocket/aws-k8s-1.34/arm64/latest/image_id",
      "/aws/service/canonical/ubuntu/eks/20.04/1.34/stable/current/amd64/hvm/ebs-gp2/ami-id",
      "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34/image_id",
    ];
    for (const Name of paths) {
      const { Parameter } = await aws.api.ssm.getParameter({ Name });
      const { Images } = await aws.api.ec2.describeImages({ ImageIds: [Parameter.Value] });
      expect(Images, Name).toHaveLength(1);
    }
    expect(await codeOf(aws.api.ssm.getParameter({ Name: "/no" }))).toBe("ParameterNotFound");
  });

  it("describes every type of the catalogue in pages of a hundred", async () => {
    const pages = await allPages((token) => aws.api.ec2.describeInstanceTypes(token));
    const types = pages.flatMap((page) => page.InstanceTypes);
    expect(types.length).toBe(aws.state.catalogue.names.length);
    expect(types.length).toBeGreaterThan(1300);
    expect(await codeOf(aws.api.ec2.describeInstanceTypes({ DryRun: true }))).toBe(
      "DryRunOperation",
    );
  });
});

describe("CreateFleet of the simulated AWS", () => {
  it("launches on demand from the cheapest pool, tags the instance and uses a free address", async () => {
    await template();
    const before = aws.state.subnets.get(subnetIds()[0] as string);
    const used = before?.used.size ?? 0;
    const answer = await fleet(overrides("m5.xlarge", "m5.large"), {
      TagSpecifications: [
        { ResourceType: "instance", Tags: [{ Key: "karpenter.sh/nodepool", Value: "default" }] },
        { ResourceType: "volume", Tags: [{ Key: "a", Value: "b" }] },
      ],
    });
    expect(answer.Errors).toEqual([]);
    expect(answer.Instances[0]?.InstanceType).toBe("m5.large");
    const [instance] = await instances();
    const tags = Object.fromEntries(instance?.Tags.map((tag) => [tag.Key, tag.Value]) ?? []);
    expect(tags).toMatchObject({
      "aws:ec2:fleet-id": answer.FleetId,
      "aws:ec2launchtemplate:version": "1",
      "karpenter.sh/nodepool": "default",
    });
    expect(instance?.Placement.AvailabilityZone).toBe("us-west-2a");
    expect(instance?.PrivateDnsName).toMatch(/^ip-10-0-\d+-\d+\.us-west-2\.compute\.internal$/);
    expect(before?.used.size).toBe(used + 1);
    const volumeId = instance?.BlockDeviceMappings?.[0]?.Ebs?.VolumeId as string;
    expect(aws.state.tags.get(volumeId)?.get("a")).toBe("b");
  });

  it("launches instances with their metadata options, and a public address if requested", async () => {
    await template({
      MetadataOptions: { HttpTokens: "required", HttpPutResponseHopLimit: 2 },
      NetworkInterfaces: [{ DeviceIndex: 0, AssociatePublicIpAddress: true }],
    });
    await template({}, "lt-plain");
    for (const LaunchTemplateName of ["lt-one", "lt-plain"])
      await fleet([], {
        LaunchTemplateConfigs: [
          {
            LaunchTemplateSpecification: { LaunchTemplateName, Version: "$Latest" },
            Overrides: overrides("m5.large"),
          },
        ],
      });
    const [open, plain] = await instances();
    expect(open).toMatchObject({
      MetadataOptions: { HttpTokens: "required", HttpPutResponseHopLimit: 2 },
      PublicIpAddress: open?.PrivateIpAddress?.replace("10.0.", "198.18."),
    });
    expect(plain).toMatchObject({ MetadataOptions: { HttpTokens: "optional" } });
    expect(plain).not.toHaveProperty("PublicIpAddress");
  });

  it("answers pools without capacity as errors, and uses the next pool", async () => {
    await template();
    aws.faults.limitCapacity({ instanceType: "m5.large" });
    const answer = await fleet(overrides("m5.large", "m5.xlarge"));
    expect(answer.Instances[0]?.InstanceType).toBe("m5.xlarge");
    expect(answer.Errors.map((error) => error.ErrorCode)).toEqual([
      "InsufficientInstanceCapacity",
      "InsufficientInstanceCapacity",
      "InsufficientInstanceCapacity",
    ]);
  });

  it("launches as many instances as there is capacity for", async () => {
    await template();
    aws.faults.limitCapacity({ remaining: 3 });
    const answer = await fleet(overrides("m5.large"), {
      TargetCapacitySpecification: {
        TotalTargetCapacity: 5,
        DefaultTargetCapacityType: "on-demand",
      },
    });
    expect(answer.Instances.flatMap((item) => item.InstanceIds)).toHaveLength(3);
    expect(answer.Errors).not.toEqual([]);
  });

  it("launches spot below the on-demand price", async () => {
    await template();
    const answer = await fleet(overrides("m5.large", "c5.large"), {
      TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: "spot" },
      SpotOptions: { AllocationStrategy: "price-capacity-optimized" },
    });
    expect(answer.Instances[0]?.Lifecycle).toBe("spot");
    const [instance] = await instances();
    expect(instance?.InstanceLifecycle).toBe("spot");
    expect(instance?.SpotInstanceRequestId).toMatch(/^sir-/);
  });

  it("orders pools by the allocation strategy", async () => {
    await template();
    const chosen = async (strategy: string, kind: "spot" | "on-demand"): Promise<string> => {
      const options = { AllocationStrategy: strategy };
      const wish = overrides("m5.large", "c5.large", "r5.large").map((override, index) => ({
        ...override,
        // r5.large, the most expensive type, has the lowest number and so the highest priority.
        Priority: 10 - index,
      }));
      const answer = await fleet(wish, {
        TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: kind },
        ...(kind === "spot" ? { SpotOptions: options } : { OnDemandOptions: options }),
      });
      return answer.Instances[0]?.InstanceType ?? "none";
    };
    expect(await chosen("lowest-price", "on-demand")).toBe("c5.large");
    expect(await chosen("prioritized", "on-demand")).toBe("r5.large");
    expect(await chosen("capacity-optimized-prioritized", "spot")).toBe("r5.large");
    const pools = ["m5.large", "c5.large", "r5.large"].flatMap((type) =>
      aws.state.zones.map((zone) => ({ type, ...spotPool(aws.state, type, zone.ZoneName) })),
    );
    const by = (key: "priceMicroUsd" | "depth", sign: 1 | -1): string | undefined =>
      [...pools].sort((a, b) => sign * ((a[key] ?? 0) - (b[key] ?? 0)))[0]?.type;
    expect(await chosen("lowest-price", "spot")).toBe(by("priceMicroUsd", 1));
    expect(await chosen("capacity-optimized", "spot")).toBe(by("depth", -1));
    expect(await codeOf(chosen("cheapest", "spot"))).toBe("InvalidParameterValue");
  });

  it("answers a repeated client token with the first answer, and launches nothing more", async () => {
    await template();
    const token = { ClientToken: "once" } as Partial<CreateFleetInput>;
    const first = await fleet(overrides("m5.large"), token);
    expect(await fleet(overrides("m5.large"), token)).toEqual(first);
    expect(await codeOf(fleet(overrides("c5.large"), token))).toBe("IdempotentParameterMismatch");
    expect(await instances()).toHaveLength(1);
  });

  it("refuses a request whose launch template does not exist", async () => {
    expect(await codeOf(fleet(overrides("m5.large")))).toBe(
      "InvalidLaunchTemplateName.NotFoundException",
    );
  });

  it.each([
    [{ ImageId: "ami-00000000000000000" }, "InvalidAMIID.NotFound"],
    [{ IamInstanceProfile: { Name: "nobody" } }, "InvalidParameterValue"],
    [{ NetworkInterfaces: [{ DeviceIndex: 0, Groups: ["sg-0"] }] }, "InvalidGroup.NotFound"],
  ])("answers a template with %o as %s", async (data, code) => {
    await template(data);
    const answer = await fleet(overrides("m5.large"));
    expect(answer.Instances).toEqual([]);
    expect(new Set(answer.Errors.map((error) => error.ErrorCode))).toEqual(new Set([code]));
  });

  it.each([
    [{ VolumeType: "gp2", Iops: 3_000 }, "InvalidParameterCombination", "iops is not supported"],
    [
      { VolumeType: "io1", Iops: 500, Throughput: 125 },
      "InvalidParameterCombination",
      "throughput",
    ],
    [{ VolumeType: "io2" }, "MissingParameter", "iops"],
    [{ VolumeType: "st1", VolumeSize: 20 }, "InvalidParameterValue", "minimum is 125GiB"],
    [{ VolumeType: "gp3", Iops: 2_999 }, "InvalidParameterValue", "minimum is 3000"],
    [{ VolumeType: "gp3", VolumeSize: 8, Iops: 4_001 }, "InvalidParameterValue", "maximum is 500"],
    [{ VolumeType: "gp3", Throughput: 751 }, "InvalidParameterValue", "maximum is 0.25"],
    [{ VolumeType: "gp9" }, "InvalidParameterValue", "gp9"],
    [{ VolumeType: "gp3", VolumeSize: 8, Iops: 4_000, Throughput: 1_000 }, undefined, ""],
    [{ VolumeType: "io1", VolumeSize: 20, Iops: 1_000 }, undefined, ""],
  ])("creates volumes as EBS does: %o", async (Ebs, code, text) => {
    await template({ BlockDeviceMappings: [{ DeviceName: "/dev/sdx", Ebs }] });
    const answer = await fleet(overrides("m5.large"));
    expect(answer.Errors[0]?.ErrorCode).toBe(code);
    expect(answer.Errors[0]?.ErrorMessage ?? "").toContain(text);
  });

  it("answers a full subnet and a wrong architecture as errors", async () => {
    await template();
    for (const id of subnetIds()) aws.controls.setFreeAddresses(id, 0);
    const full = await fleet(overrides("m5.large"));
    expect(full.Errors[0]?.ErrorCode).toBe("InsufficientFreeAddressesInSubnet");
    const wrong = await fleet(overrides("m6g.large"));
    expect(wrong.Errors[0]?.ErrorMessage).toContain("architecture 'arm64'");
  });

  it("launches a thousand instances quickly, and the same ones for the same seed", async () => {
    const run = async (count: number): Promise<string[]> => {
      clock = new VirtualClock();
      aws = create();
      await template();
      const wish = overrides("m5.large", "m5.xlarge", "c5.large");
      for (let i = 0; i < count; i++) await fleet(wish);
      await clock.advance(60_000);
      return (await instances()).map((item) => `${item.InstanceId} ${item.PrivateIpAddress}`);
    };
    const first = await run(1000);
    expect(first).toHaveLength(1000);
    expect(new Set(first).size).toBe(1000);
    expect(await run(50)).toEqual(first.slice(0, 50));
  });
});

describe("faults of the simulated AWS", () => {
  it("refuse launches beyond a vCPU quota, and allow them after it is raised", async () => {
    await template();
    const taken = 2 * 2;
    const raise = aws.faults.limitQuota({ capacityType: "on-demand", vcpus: taken + 4 });
    const two = { TotalTargetCapacity: 2, DefaultTargetCapacityType: "on-demand" as const };
    const fits = await fleet(overrides("m5.large"), { TargetCapacitySpecification: two });
    expect(fits.Instances.flatMap((one) => one.InstanceIds)).toHaveLength(2);
    const over = await fleet(overrides("m5.large"));
    expect(over.Errors[0]?.ErrorCode).toBe("VcpuLimitExceeded");
    raise();
    expect((await fleet(overrides("m5.large"))).Instances).toHaveLength(1);
  });

  it("change spot prices, in the price history and for fleets", async () => {
    const priceOf = async (): Promise<number> => {
      const input = { InstanceTypes: ["m5.large"], ProductDescriptions: ["Linux/UNIX"] };
      const { SpotPriceHistory } = await aws.api.ec2.describeSpotPriceHistory(input);
      const here = SpotPriceHistory.find((one) => one.AvailabilityZone === "us-west-2a");
      return Number(here?.SpotPrice);
    };
    const before = await priceOf();
    const undo = aws.faults.moveSpotPrices({ zone: "us-west-2a", factor: 10 });
    expect(await priceOf()).toBeCloseTo(before * 10);
    await template();
    const spot = { TotalTargetCapacity: 1, DefaultTargetCapacityType: "spot" as const };
    const options = { SpotOptions: { AllocationStrategy: "lowest-price" } };
    const answer = await fleet(overrides("m5.large"), {
      TargetCapacitySpecification: spot,
      ...options,
    });
    const chosen = answer.Instances[0]?.LaunchTemplateAndOverrides?.Overrides;
    expect(chosen?.AvailabilityZone).not.toBe("us-west-2a");
    undo();
    expect(await priceOf()).toBe(before);
  });

  it("delay when new resources become visible", async () => {
    await template();
    aws.faults.tellLate(5_000);
    expect(await codeOf(fleet(overrides("m5.large")))).toBe(
      "InvalidLaunchTemplateName.NotFoundException",
    );
    await clock.advance(5_000);
    await fleet(overrides("m5.large"));
    expect(await instances()).toHaveLength(0);
    await clock.advance(5_000);
    expect(await instances()).toHaveLength(1);
  });
});

describe("a simulated EC2 instance", () => {
  it("runs after its boot, and its kubelet follows its user data", async () => {
    await template();
    await fleet(overrides("m5.large"));
    expect(events.map((event) => event.type)).toEqual(["pending"]);
    await clock.advance(10_000);
    const running = events.at(-1);
    expect(running?.type).toBe("running");
    expect(running?.kubelet).toMatchObject({
      taints: [{ key: "karpenter.sh/unregistered", effect: "NoExecute" }],
      maxPods: 29,
      osImage: "Amazon Linux 2023",
      providerId: `aws:///us-west-2a/${running?.instance.InstanceId}`,
    });
    expect(running?.kubelet?.labels).toMatchObject({
      "karpenter.sh/nodepool": "default",
      team: "a",
      "node.kubernetes.io/instance-type": "m5.large",
    });
    expect(running?.kubelet?.allocatable).toMatchObject({ cpu: "1930m", pods: "29" });
  });

  it("never joins with the user data of another cluster, or if a fault prevents it", async () => {
    await template({ UserData: nodeConfig("other") });
    await fleet(overrides("m5.large"));
    await clock.advance(10_000);
    expect(events.at(-1)?.kubelet).toBeUndefined();
    expect(events.at(-1)?.problem).toContain('"other"');
    await template({}, "lt-two");
    aws.faults.neverJoin({ times: 1 });
    const config = {
      LaunchTemplateSpecification: { LaunchTemplateName: "lt-two", Version: "$Default" },
      Overrides: overrides("m5.large"),
    };
    await fleet([], { LaunchTemplateConfigs: [config] });
    await fleet([], { LaunchTemplateConfigs: [config] });
    await clock.advance(10_000);
    const joined = events.filter((event) => event.type === "running").map((e) => !!e.kubelet);
    expect(joined).toEqual([false, false, true]);
  });

  it("ends through shutting-down, frees its address and volumes, and disappears later", async () => {
    await template();
    const answer = await fleet(overrides("m5.large"));
    const id = answer.Instances[0]?.InstanceIds[0] as string;
    const usedBefore = aws.state.subnets.get(subnetIds()[0] as string)?.used.size ?? 0;
    await clock.advance(10_000);
    const ended = await aws.api.ec2.terminateInstances({ InstanceIds: [id] });
    expect(ended.TerminatingInstances[0]).toMatchObject({
      PreviousState: { Name: "running" },
      CurrentState: { Name: "shutting-down" },
    });
    await clock.advance(30_000);
    expect((await instances())[0]?.State.Name).toBe("terminated");
    expect(aws.state.subnets.get(subnetIds()[0] as string)?.used.size).toBe(usedBefore - 1);
    expect([...aws.state.volumes.values()].some((volume) => volume.instanceId === id)).toBe(false);
    expect(events.map((event) => event.type)).toEqual([
      "pending",
      "running",
      "shutting-down",
      "terminated",
    ]);
    await clock.advance(3_700_000);
    expect(await codeOf(aws.api.ec2.describeInstances({ InstanceIds: [id] }))).toBe(
      "InvalidInstanceID.NotFound",
    );
  });

  it("gets a warning two minutes before its spot capacity is reclaimed", async () => {
    await template();
    const answer = await fleet(overrides("m5.large"), {
      TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: "spot" },
    });
    await clock.advance(10_000);
    aws.controls.reclaimSpot(answer.Instances[0]?.InstanceIds[0] as string);
    await clock.advance(119_000);
    expect(events.at(-1)?.type).toBe("interruption-notice");
    await clock.advance(2_000);
    expect(events.at(-1)?.type).toBe("shutting-down");
  });
});

describe("describe calls of the simulated AWS", () => {
  it("filter instances by tag, state, lifecycle and DNS name, with wildcards", async () => {
    await template();
    await fleet(overrides("m5.large"));
    const [instance] = await instances();
    const count = async (Name: string, ...Values: string[]): Promise<number> =>
      (await aws.api.ec2.describeInstances({ Filters: [{ Name, Values }] })).Reservations.length;
    expect(await count("instance-state-name", "pending")).toBe(1);
    expect(await count("instance-state-name", "pending", "running")).toBe(3);
    expect(await count("private-dns-name", instance?.PrivateDnsName as string)).toBe(1);
    expect(await count("private-dns-name", "ip-10-0-*")).toBe(3);
    expect(await count("tag:Name", `${CLUSTER}-ng-*`)).toBe(2);
    expect(await codeOf(count("colour", "red") as unknown as Promise<unknown>)).toBe(
      "InvalidParameterValue",
    );
  });

  it("return pages by token", async () => {
    const pages = await allPages((token) =>
      aws.api.ec2.describeSubnets({ MaxResults: 2, ...token }),
    );
    expect(pages.map((page) => page.Subnets.length)).toEqual([2, 1]);
  });

  it("return spot prices of 25 % to 45 % of on-demand, the same ones for a seed", async () => {
    const input = { InstanceTypes: ["m5.large"], ProductDescriptions: ["Linux/UNIX"] };
    const { SpotPriceHistory } = await aws.api.ec2.describeSpotPriceHistory(input);
    expect(SpotPriceHistory.map((price) => price.AvailabilityZone)).toEqual([
      "us-west-2a",
      "us-west-2b",
      "us-west-2c",
    ]);
    for (const { SpotPrice } of SpotPriceHistory) {
      expect(Number(SpotPrice)).toBeGreaterThanOrEqual(0.096 * 0.249);
      expect(Number(SpotPrice)).toBeLessThanOrEqual(0.096 * 0.451);
    }
  });

  it("return products by the filters that a client of the price list sends", async () => {
    const filter = (Field: string, Value: string) => ({
      Type: "TERM_MATCH" as const,
      Field,
      Value,
    });
    const { PriceList } = await aws.api.pricing.getProducts({
      ServiceCode: "AmazonEC2",
      Filters: [filter("instanceType", "m5.large"), filter("tenancy", "Shared")],
    });
    expect(PriceList).toHaveLength(1);
    expect(PriceList[0]).toContain('"USD":"0.0960000000"');
  });
});

describe("tags, identities and faults of the simulated AWS", () => {
  it("refuse keys that begin with aws:, and tags on unknown resources", async () => {
    const [id] = subnetIds();
    const tag = (Key: string, resource = id as string) =>
      aws.api.ec2.createTags({ Resources: [resource], Tags: [{ Key, Value: "" }] });
    await tag("team");
    const found = await aws.api.ec2.describeSubnets({
      Filters: [{ Name: "tag-key", Values: ["team"] }],
    });
    expect(found.Subnets.map((subnet) => subnet.SubnetId)).toEqual([id]);
    expect(await codeOf(tag("aws:mine"))).toBe("InvalidParameterValue");
    expect(await codeOf(tag("team", "i-00000000000000000"))).toBe("InvalidInstanceID.NotFound");
  });

  it("allow one role in an instance profile", async () => {
    const { iam } = aws.api;
    const name = { InstanceProfileName: "p" };
    expect(await codeOf(iam.getInstanceProfile(name))).toBe("NoSuchEntity");
    await iam.createInstanceProfile({ ...name, Path: "/karpenter/" });
    expect(await codeOf(iam.createInstanceProfile(name))).toBe("EntityAlreadyExists");
    const role = { ...name, RoleName: `KarpenterNodeRole-${CLUSTER}` };
    await iam.addRoleToInstanceProfile(role);
    expect(await codeOf(iam.addRoleToInstanceProfile(role))).toBe("LimitExceeded");
    expect(await codeOf(iam.deleteInstanceProfile(name))).toBe("DeleteConflict");
    await iam.removeRoleFromInstanceProfile(role);
    await iam.deleteInstanceProfile(name);
    expect(await codeOf(iam.deleteInstanceProfile(name))).toBe("NoSuchEntity");
  });

  it("deny, throttle or cut off calls, and the journal has every call", async () => {
    const undo = aws.faults.deny("DescribeSubnets");
    expect(await codeOf(aws.api.ec2.describeSubnets({}))).toBe("UnauthorizedOperation");
    undo();
    aws.faults.throttle("DescribeSubnets", 1);
    expect(await codeOf(aws.api.ec2.describeSubnets({}))).toBe("RequestLimitExceeded");
    expect(await codeOf(aws.api.ec2.describeSubnets({}))).toBe("ok");
    aws.faults.unreachable("iam");
    expect(await codeOf(aws.call("iam", "GetRole", { RoleName: "x" }))).toBe("NetworkingError");
    expect(aws.journal.calls({ failed: true }).map((entry) => entry.action)).toEqual([
      "DescribeSubnets",
      "DescribeSubnets",
      "GetRole",
    ]);
    expect(aws.journal.counts()["DescribeSubnets"]).toBe(3);
  });
});
