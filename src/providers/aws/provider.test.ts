import { afterEach, describe, expect, it } from "vitest";
import { AWS_NODE_TEMPLATE, type AWSNodeTemplate } from "../../apis/aws/awsnodetemplate.ts";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../apis/aws/ec2nodeclass.ts";
import { CLUSTER_UID_KEY } from "../../apis/karpenter/labels.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import { formatResources, subtractResources } from "../../apis/resources.ts";
import { SILENT } from "../../base/log.ts";
import {
  CreateError,
  InsufficientCapacityError,
  NodeClaimNotFoundError,
  NodeClassNotReadyError,
} from "../../core/cloudprovider/errors.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { layOverlays } from "../../core/cloudprovider/overlays.ts";
import type { SimulatedAws } from "../../sandbox/ec2/simulated-aws.ts";
import {
  type AwsWorld,
  awsClaim,
  awsWorld,
  CLUSTER,
  ec2NodeClass,
} from "../../testing/aws-world.ts";
import { pool } from "../../testing/builders.ts";
import type { SpotPrice } from "./api/images-and-types.ts";
import type { CreateFleetInput } from "./api/launches.ts";
import { LaunchTemplates } from "./launchtemplate/launch-templates.ts";
import type { AwsSettings } from "./parts.ts";
import { fromTagList } from "./tags/tags.ts";

const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const TEMPLATE_REF = { group: "karpenter.k8s.aws", kind: "AWSNodeTemplate", name: "default" };
const SMALL: readonly RequirementSpec[] = [
  { key: "node.kubernetes.io/instance-type", operator: "In", values: ["m5.large", "m5.xlarge"] },
  { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
];

function onlyType(name: string): readonly RequirementSpec[] {
  return [{ ...SMALL[0], values: [name] } as RequirementSpec, SMALL[1] as RequirementSpec];
}

let world: AwsWorld;

async function begin(
  spec: Partial<EC2NodeClass["spec"]> = {},
  settings: Partial<AwsSettings> = {},
  region: Parameters<typeof awsWorld>[1] = {},
): Promise<void> {
  world = await awsWorld(settings, region);
  await world.kube.create(EC2_NODE_CLASS, ec2NodeClass(spec));
  await world.clock.advance(1_000);
}

async function beginAlpha(
  spec: Partial<AWSNodeTemplate["spec"]> = {},
  settings: Partial<AwsSettings> = { defaultInstanceProfile: "P1" },
): Promise<void> {
  world = await awsWorld(settings);
  await world.kube.create(AWS_NODE_TEMPLATE, {
    metadata: { name: "default" },
    spec: {
      subnetSelector: { "alpha.eksctl.io/cluster-name": CLUSTER },
      securityGroupSelector: { [`kubernetes.io/cluster/${CLUSTER}`]: "owned" },
      ...spec,
    },
  } as AWSNodeTemplate);
  await world.clock.advance(1_000);
}

function machine(requirements: readonly RequirementSpec[] = SMALL): NodeClaim {
  const claim = awsClaim(requirements, {
    nodeClassRef: TEMPLATE_REF,
    metadata: { labels: { "karpenter.sh/provisioner-name": "default" } },
  });
  return { ...claim, apiVersion: "karpenter.sh/v1alpha5", kind: "Machine" };
}

function launch(claim: NodeClaim = awsClaim(SMALL)): Promise<NodeClaim> {
  return world.settle(world.cloud.create(claim));
}

function fleets(): readonly CreateFleetInput[] {
  return world.aws.journal.inputs<CreateFleetInput>("CreateFleet");
}

async function tagsOf(claim: NodeClaim): Promise<Readonly<Record<string, string>>> {
  const id = claim.status?.providerID?.split("/").at(-1) ?? "";
  const { Reservations } = await world.api.ec2.describeInstances({ InstanceIds: [id] });
  return fromTagList(Reservations[0]?.Instances[0]?.Tags ?? []);
}

/** User data of each launch template created so far. */
function userDataOfAll(): readonly string[] {
  return world.templates().map((data) => Buffer.from(data.UserData ?? "", "base64").toString());
}

function nodeClass(): EC2NodeClass {
  return world.kube.find(EC2_NODE_CLASS, "default") as EC2NodeClass;
}

afterEach(() => world.stop());

describe("instance types of the AWS provider", () => {
  it("have the capacity and allocatable that upstream documents", async () => {
    await begin({}, {}, { everyType: true });
    const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
    expect(types.length).toBeGreaterThan(1_300);
    const shown = Object.fromEntries(
      types
        .filter(({ name }) =>
          ["m5.large", "p5.48xlarge", "inf2.24xlarge", "a1.2xlarge"].includes(name),
        )
        .map((one) => [one.name, formatResources(subtractResources(one.capacity, one.overhead))]),
    );
    expect(shown).toMatchInlineSnapshot(`
      {
        "a1.2xlarge": {
          "cpu": "7910m",
          "ephemeral-storage": "17Gi",
          "memory": "14103Mi",
          "pods": "58",
          "vpc.amazonaws.com/pod-eni": "38",
        },
        "inf2.24xlarge": {
          "aws.amazon.com/neuron": "6",
          "aws.amazon.com/neuroncore": "12",
          "cpu": "95690m",
          "ephemeral-storage": "17Gi",
          "memory": "355262Mi",
          "pods": "737",
          "vpc.amazonaws.com/pod-eni": "107",
        },
        "m5.large": {
          "cpu": "1930m",
          "ephemeral-storage": "17Gi",
          "memory": "6903Mi",
          "pods": "29",
          "vpc.amazonaws.com/pod-eni": "9",
        },
        "p5.48xlarge": {
          "cpu": "191450m",
          "ephemeral-storage": "17Gi",
          "memory": "1938410Mi",
          "nvidia.com/gpu": "8",
          "pods": "100",
          "vpc.amazonaws.com/efa": "32",
          "vpc.amazonaws.com/pod-eni": "120",
        },
      }
    `);
  });

  it("are the same objects while nothing changes, except types that lost an offering", async () => {
    await begin();
    const ask = () => world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
    const before = await ask();
    expect(await ask()).toBe(before);
    world.aws.faults.limitCapacity({ instanceType: "m5.large", capacityType: "on-demand" });
    const asked = launch(awsClaim(onlyType("m5.large")));
    await expect(asked).rejects.toThrow("InsufficientInstanceCapacity");
    const after = await ask();
    const changed = after.filter((type, at) => type !== before[at]).map(({ name }) => name);
    expect(changed).toEqual(["m5.large"]);
    await world.clock.advance(180_000);
    const m5 = (await ask()).find(({ name }) => name === "m5.large");
    expect(m5?.offerings.every((one) => one.available)).toBe(true);
  });

  it("fail with upstream's message if a selector matches nothing", async () => {
    await begin({ subnetSelectorTerms: [{ id: "subnet-none" }] });
    const asked = world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF }));
    await expect(world.settle(asked)).rejects.toThrow("no subnets exist given constraints");
  });

  it("fail with the name of the class if it is missing", async () => {
    await begin();
    const asked = world.cloud.getInstanceTypes(pool({ classRef: { ...CLASS_REF, name: "x" } }));
    await expect(asked).rejects.toThrow('ec2nodeclasses.karpenter.k8s.aws "x" not found');
  });
});

describe("a launch by the AWS provider", () => {
  it("S1-08 S1-12 requests an instant fleet with one override for each type and zone", async () => {
    await begin();
    const claim = await launch();
    const [fleet] = fleets();
    expect(fleet?.Type).toBe("instant");
    expect(fleet?.TargetCapacitySpecification).toEqual({
      TotalTargetCapacity: 1,
      DefaultTargetCapacityType: "on-demand",
    });
    expect(fleet?.LaunchTemplateConfigs.flatMap((one) => one.Overrides)).toHaveLength(6);
    expect(claim.status?.providerID).toMatch(/^aws:\/\/\/us-east-1[abc]\/i-/);
    expect(claim.metadata.labels).toMatchObject({
      "node.kubernetes.io/instance-type": "m5.large",
      "karpenter.sh/capacity-type": "on-demand",
      "karpenter.k8s.aws/instance-category": "m",
      "kubernetes.io/arch": "amd64",
    });
    expect(claim.status?.allocatable).toMatchObject({ cpu: "1930m", pods: "29" });
    await world.clock.advance(10_000);
    const joined = world.instances.find((event) => event.type === "running");
    expect(joined?.kubelet?.taints).toContainEqual({
      key: "karpenter.sh/unregistered",
      effect: "NoExecute",
    });
  });

  it("S3-68 S4-04 requests spot if allowed, with price-capacity-optimized", async () => {
    await begin();
    const claim = await launch(
      awsClaim([
        SMALL[0] as RequirementSpec,
        { key: "karpenter.sh/capacity-type", operator: "In", values: ["spot", "on-demand"] },
      ]),
    );
    expect(fleets()[0]?.TargetCapacitySpecification.DefaultTargetCapacityType).toBe("spot");
    expect(fleets()[0]?.SpotOptions?.AllocationStrategy).toBe("price-capacity-optimized");
    expect(claim.metadata.labels?.["karpenter.sh/capacity-type"]).toBe("spot");
  });

  it("gives EC2 priorities if a NodeOverlay changed prices", async () => {
    await begin();
    const claim = awsClaim([
      SMALL[0] as RequirementSpec,
      { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
    ]);
    const annotations = { "karpenter.sh/price-overlay-applied": "true" };
    const overlaid = { ...claim, metadata: { ...claim.metadata, annotations } };
    const priced = (types: readonly InstanceType[]) =>
      types.map((type) => ({
        ...type,
        offerings: type.offerings.map((one) => ({ ...one, priceMicroUsd: 7 })),
      }));
    await world.settle(world.cloud.create(overlaid, priced));
    expect(fleets()[0]?.OnDemandOptions?.AllocationStrategy).toBe("prioritized");
    expect(fleets()[0]?.LaunchTemplateConfigs[0]?.Overrides[0]?.Priority).toBe(7);
  });

  it("uses an offering without AWS price if a NodeOverlay gives it a price, and otherwise not", async () => {
    const prepare = ({ api: { ec2 } }: SimulatedAws) => {
      const whole = ec2.describeSpotPriceHistory;
      const tellAll: typeof whole = async (input, ...rest) => {
        const told = await whole(input, ...rest);
        const isOther = (one: SpotPrice) => one.InstanceType !== "m5.xlarge";
        return { ...told, SpotPriceHistory: told.SpotPriceHistory.filter(isOther) };
      };
      Object.assign(ec2, { describeSpotPriceHistory: tellAll });
    };
    await begin({}, {}, { prepare });
    const wanted = [
      { ...SMALL[0], values: ["m5.xlarge"] } as RequirementSpec,
      { key: "karpenter.sh/capacity-type", operator: "In", values: ["spot"] },
    ] as const;
    await expect(launch(awsClaim(wanted))).rejects.toThrow(InsufficientCapacityError);
    const priced = (types: readonly InstanceType[]) => {
      const requirements = [{ ...wanted[0], operator: "In" as const }];
      const overlay = { metadata: { name: "x" }, spec: { requirements, price: "0.05" } };
      return layOverlays({ pool: pool(), labels: {}, instanceTypes: types }, [overlay]);
    };
    const claim = await world.settle(world.cloud.create(awsClaim(wanted), priced));
    expect(claim.metadata.labels?.["node.kubernetes.io/instance-type"]).toBe("m5.xlarge");
  });

  it("S1-13 S3-67 uses a separate image and launch template for each architecture", async () => {
    await begin();
    await launch(
      awsClaim([
        {
          key: "node.kubernetes.io/instance-type",
          operator: "In",
          values: ["m6g.large", "m5.large"],
        },
        { key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] },
      ]),
    );
    expect(new Set(world.templates().map((one) => one.ImageId)).size).toBe(2);
    expect(fleets()[0]?.LaunchTemplateConfigs).toHaveLength(2);
  });

  it("is joined with equal launches into one fleet call", async () => {
    await begin();
    const claims = await world.settle(
      Promise.all(["a", "b", "c"].map((name) => world.cloud.create(awsClaim(SMALL, { name })))),
    );
    expect(new Set(claims.map((claim) => claim.status?.providerID)).size).toBe(3);
    expect(fleets().map((one) => one.TargetCapacitySpecification.TotalTargetCapacity)).toEqual([3]);
  });

  it("uses another type after EC2 had no capacity, and reports if all types lack capacity", async () => {
    await begin();
    world.aws.faults.limitCapacity({ instanceType: "m5.large" });
    const first = await launch();
    expect(first.metadata.labels?.["node.kubernetes.io/instance-type"]).toBe("m5.xlarge");
    world.aws.faults.limitCapacity({ instanceType: "m5.xlarge" });
    await expect(launch()).rejects.toThrow(InsufficientCapacityError);
    expect(world.lines).toContain("removing offering from offerings");
  });

  it("says on the claim how to create the role for spot, and requests no spot while it is missing", async () => {
    await begin();
    const code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted";
    world.aws.faults.limitCapacity({ capacityType: "spot", code, message: "not permitted" });
    const both: RequirementSpec = {
      key: "karpenter.sh/capacity-type",
      operator: "In",
      values: ["spot", "on-demand"],
    };
    const claim = awsClaim([SMALL[0] as RequirementSpec, both]);
    await expect(launch(claim)).rejects.toThrow(code);
    const told = world.events.filter((one) => one.reason === "SpotSLRCreationFailed");
    expect(told.map((one) => one.message).join()).toContain("create-service-linked-role");
    const launched = await launch(claim);
    expect(launched.metadata.labels?.["karpenter.sh/capacity-type"]).toBe("on-demand");
  });

  it("sends EC2 the context of the class, but not for a claim with relaxed minValues", async () => {
    await begin({ context: "agreed" });
    await launch();
    const annotations = { "karpenter.sh/nodeclaim-min-values-relaxed": "true" };
    await launch(awsClaim(SMALL, { metadata: { annotations } }));
    const asked = fleets().slice(-2);
    expect(asked.map((one) => one.Context)).toEqual(["agreed", undefined]);
  });

  it("creates a launch template again that somebody deleted", async () => {
    await begin();
    await launch();
    const [name] = fleets().map(
      (one) => one.LaunchTemplateConfigs[0]?.LaunchTemplateSpecification.LaunchTemplateName ?? "",
    );
    await world.api.ec2.deleteLaunchTemplate({ LaunchTemplateName: name ?? "" });
    await expect(launch()).resolves.toBeDefined();
  });

  it("leaves a launch template that another cluster has made under the name since", async () => {
    await begin();
    await launch();
    const [ours] = (await world.api.ec2.describeLaunchTemplates({})).LaunchTemplates;
    const LaunchTemplateName = ours?.LaunchTemplateName ?? "";
    await world.api.ec2.deleteLaunchTemplate({ LaunchTemplateName });
    await world.api.ec2.createLaunchTemplate({
      LaunchTemplateName,
      LaunchTemplateData: {},
      TagSpecifications: [
        {
          ResourceType: "launch-template",
          Tags: [{ Key: "karpenter.k8s.aws/cluster", Value: "another" }],
        },
      ],
    });
    await world.clock.advance(600_000);
    const { LaunchTemplates } = await world.api.ec2.describeLaunchTemplates({});
    expect(LaunchTemplates.map((one) => one.LaunchTemplateName)).toEqual([LaunchTemplateName]);
  });

  it("leaves launch templates of another cluster also where the endpoint ignores filters", async () => {
    await begin();
    const describe = world.api.ec2.describeLaunchTemplates;
    const ec2 = {
      ...world.api.ec2,
      describeLaunchTemplates: ({ Filters: _, ...rest }: Parameters<typeof describe>[0]) =>
        describe.call(world.api.ec2, rest),
    };
    const tagged = (LaunchTemplateName: string, cluster: string, nodeClass: string) =>
      ec2.createLaunchTemplate({
        LaunchTemplateName,
        LaunchTemplateData: {},
        TagSpecifications: [
          {
            ResourceType: "launch-template",
            Tags: [
              { Key: "eks:eks-cluster-name", Value: cluster },
              { Key: "karpenter.k8s.aws/ec2nodeclass", Value: nodeClass },
            ],
          },
        ],
      });
    await tagged("karpenter.k8s.aws/theirs", "another", "default");
    await tagged("karpenter.k8s.aws/other-class", CLUSTER, "other");
    await tagged("karpenter.k8s.aws/ours", CLUSTER, "default");
    const templates = new LaunchTemplates({
      ec2,
      clock: world.clock,
      log: SILENT,
      clusterName: CLUSTER,
      clusterUid: () => "uid",
    });
    await world.settle(templates.deleteOf("default"));
    const { LaunchTemplates: left } = await world.api.ec2.describeLaunchTemplates({});
    expect(left.map((one) => one.LaunchTemplateName).sort()).toEqual([
      "karpenter.k8s.aws/other-class",
      "karpenter.k8s.aws/theirs",
    ]);
  });

  it("S3-23 S3-03 deletes unused launch templates, and only its own", async () => {
    await begin();
    await world.api.ec2.createLaunchTemplate({
      LaunchTemplateName: "foreign",
      LaunchTemplateData: {},
    });
    await launch();
    await world.clock.advance(600_000);
    const { LaunchTemplates } = await world.api.ec2.describeLaunchTemplates({});
    expect(LaunchTemplates.map((one) => one.LaunchTemplateName)).toEqual(["foreign"]);
  });

  it("deletes launch templates that Karpenter in Go left, by their tag, and no template with another name", async () => {
    await begin();
    const { ec2 } = world.api;
    const Tags = [{ Key: "eks:eks-cluster-name", Value: CLUSTER }];
    for (const LaunchTemplateName of ["karpenter.k8s.aws/1", "by-hand"])
      await ec2.createLaunchTemplate({
        LaunchTemplateName,
        LaunchTemplateData: {},
        TagSpecifications: [{ ResourceType: "launch-template", Tags }],
      });
    const names = async () =>
      (await ec2.describeLaunchTemplates({})).LaunchTemplates.map((one) => one.LaunchTemplateName);
    const clusterUid = () => undefined;
    const ours = { ec2, clock: world.clock, log: SILENT, clusterName: CLUSTER, clusterUid };
    const templates = new LaunchTemplates(ours);
    await templates.sweep();
    expect(await names()).toEqual(["karpenter.k8s.aws/1", "by-hand"]);
    await world.clock.advance(300_000);
    await templates.sweep();
    expect(await names()).toEqual(["by-hand"]);
  });

  it("deletes no launch template of another cluster UID, and none while its own UID is not known", async () => {
    await begin();
    const { ec2 } = world.api;
    const Tags = [
      { Key: "karpenter.k8s.aws/cluster", Value: CLUSTER },
      { Key: CLUSTER_UID_KEY, Value: "uid-of-one" },
    ];
    const LaunchTemplateName = "karpenter.k8s.aws/1";
    const TagSpecifications = [{ ResourceType: "launch-template", Tags }];
    await ec2.createLaunchTemplate({
      LaunchTemplateName,
      LaunchTemplateData: {},
      TagSpecifications,
    });
    let uid: string | undefined;
    const templates = new LaunchTemplates({
      ec2,
      clock: world.clock,
      log: SILENT,
      clusterName: CLUSTER,
      clusterUid: () => uid,
    });
    const isThereAfterSweeps = async () => {
      await templates.sweep();
      await world.clock.advance(300_000);
      await templates.sweep();
      return (await ec2.describeLaunchTemplates({})).LaunchTemplates.length === 1;
    };
    expect(await isThereAfterSweeps()).toBe(true);
    uid = "uid-of-one";
    expect(await isThereAfterSweeps()).toBe(false);
  });

  it("S0-16 uses the subnet with the most free addresses, minus those of running launches", async () => {
    await begin({ subnetSelectorTerms: [{ id: "subnet-a" }, { id: "subnet-b" }] });
    const zone = "us-east-1a";
    world.aws.controls.addSubnet({ id: "subnet-a", zone, cidr: "10.1.0.0/24", freeAddresses: 40 });
    world.aws.controls.addSubnet({ id: "subnet-b", zone, cidr: "10.2.0.0/24", freeAddresses: 60 });
    await world.clock.advance(120_000);
    for (let i = 0; i < 2; i++) await launch(awsClaim(onlyType("m5.large")));
    const used = fleets().map((fleet) => fleet.LaunchTemplateConfigs[0]?.Overrides[0]?.SubnetId);
    expect(used).toEqual(["subnet-b", "subnet-a"]);
  });

  it("reports a refusal as a condition that a person can read", async () => {
    await begin();
    world.aws.faults.deny("CreateFleet");
    const failed = await launch().catch((error) => error);
    expect(failed).toBeInstanceOf(CreateError);
    expect(failed.conditionReason).toBe("Unauthorized");
  });

  it("waits for an EC2NodeClass that is not ready", async () => {
    await begin({ securityGroupSelectorTerms: [{ id: "sg-none" }] });
    await expect(launch()).rejects.toThrow(NodeClassNotReadyError);
  });
});

describe("an AWSNodeTemplate", () => {
  it("whose selector matches nothing is reported once, in the log and as an event, until it matches", async () => {
    await beginAlpha({ subnetSelector: { team: "nobody" } });
    await world.clock.advance(600_000);
    const wrong = 'no subnets exist given constraints [{"tags":{"team":"nobody"}}]';
    const told = () => world.events.filter(({ reason }) => reason === "NodeClassNotReady");
    expect(told().map(({ message }) => message)).toEqual([
      `Nothing is launched from this AWSNodeTemplate: ${wrong}`,
    ]);
    const [id = ""] = world.aws.state.subnets.keys();
    world.aws.controls.tag(id, [{ Key: "team", Value: "nobody" }]);
    await world.clock.advance(600_000);
    expect(world.kube.find(AWS_NODE_TEMPLATE, "default")?.status).toMatchObject({
      subnets: [{ id }],
    });
    expect(world.errors.filter((line) => line === wrong)).toHaveLength(1);
  });
});

describe("nodes of v1alpha5", () => {
  it("S0-60 S0-61 S0-62 S0-64 get v1alpha5's tags, of which the user can change only Name", async () => {
    await beginAlpha({ tags: { team: "a", "karpenter.sh/managed-by": "me" } });
    world.aws.controls.addInstanceProfile("P1", `KarpenterNodeRole-${CLUSTER}`);
    expect(await tagsOf(await launch(machine()))).toMatchObject({
      Name: "karpenter.sh/provisioner-name/default",
      "karpenter.sh/provisioner-name": "default",
      [`kubernetes.io/cluster/${CLUSTER}`]: "owned",
      "karpenter.sh/managed-by": CLUSTER,
      team: "a",
    });
  });

  it.each([
    [true, 9],
    [false, undefined],
  ])("offer network interfaces for pods with aws.enablePodENI=%s", async (podEni, count) => {
    await beginAlpha({}, { defaultInstanceProfile: "P1", podEni });
    const asking = pool({ classRef: TEMPLATE_REF });
    const types = await world.settle(world.cloud.getInstanceTypes(asking));
    const large = types.find((one) => one.name === "m5.large");
    expect(large?.capacity["vpc.amazonaws.com/pod-eni"]).toBe(count);
  });

  it("run as many pods as their interfaces have addresses, or 110 with aws.enableENILimitedPodDensity=false", async () => {
    await beginAlpha({}, { defaultInstanceProfile: "P1", eniLimitedPodDensity: false });
    const types = await world.settle(
      world.cloud.getInstanceTypes(pool({ classRef: TEMPLATE_REF })),
    );
    expect(types.find((one) => one.name === "m5.large")?.capacity["pods"]).toBe(110);
  });

  it("get the tags of aws.tags, overridden by those of the template", async () => {
    const ours = { team: "b", cost: "c" };
    await beginAlpha({ tags: { team: "a" } }, { defaultInstanceProfile: "P1", tags: ours });
    world.aws.controls.addInstanceProfile("P1", `KarpenterNodeRole-${CLUSTER}`);
    expect(await tagsOf(await launch(machine()))).toMatchObject({ team: "a", cost: "c" });
  });

  it("S0-08 use the template's instance profile, else that of the settings, else fail and name both", async () => {
    await beginAlpha();
    world.aws.controls.addInstanceProfile("P1", `KarpenterNodeRole-${CLUSTER}`);
    await launch(machine());
    expect(world.templates()[0]?.IamInstanceProfile?.Name).toBe("P1");
    await world.stop();
    await beginAlpha({}, {});
    await expect(launch(machine())).rejects.toThrow(
      "neither spec.provider.instanceProfile nor --default-instance-profile is specified",
    );
  });

  it("S0-11 S0-13 S0-15 S0-38 get user data, devices and options of the template", async () => {
    const script = "#!/bin/bash -xe\necho $HOME > /data$N\n";
    await beginAlpha({
      instanceProfile: `KarpenterNodeInstanceProfile-${CLUSTER}`,
      userData: script,
      detailedMonitoring: true,
      blockDeviceMappings: [
        { deviceName: "/dev/xvda", ebs: { volumeSize: "20Gi", volumeType: "gp3" } },
        { deviceName: "/dev/xvdb", ebs: { volumeSize: "100Gi", deleteOnTermination: true } },
      ],
    });
    const claim = await launch(machine());
    const [data] = world.templates();
    const text = Buffer.from(data?.UserData ?? "", "base64").toString();
    expect(text.split("--//")[1]).toBe(
      `\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n${script}\n`,
    );
    expect(text).toContain(`/etc/eks/bootstrap.sh '${CLUSTER}'`);
    expect(data?.Monitoring).toEqual({ Enabled: true });
    expect(data?.MetadataOptions).toMatchObject({ HttpPutResponseHopLimit: 2 });
    expect(data?.BlockDeviceMappings?.map((one) => one.Ebs?.VolumeSize)).toEqual([20, 100]);
    expect(claim.status?.capacity?.["ephemeral-storage"]).toBe("20Gi");
  });

  it("use the launch template that the AWSNodeTemplate names, unchanged", async () => {
    await beginAlpha({ launchTemplate: "mine" });
    await expect(launch(machine())).rejects.toThrow("launch template not found: mine");
    const { Images } = await world.api.ec2.describeImages({ Owners: ["amazon"] });
    const ImageId = Images.find((one) => one.Architecture === "x86_64")?.ImageId ?? "";
    const IamInstanceProfile = { Name: `KarpenterNodeInstanceProfile-${CLUSTER}` };
    await world.api.ec2.createLaunchTemplate({
      LaunchTemplateName: "mine",
      LaunchTemplateData: { ImageId, IamInstanceProfile },
    });
    await launch(machine());
    expect(fleets().at(-1)?.LaunchTemplateConfigs).toMatchObject([
      { LaunchTemplateSpecification: { LaunchTemplateName: "mine" } },
    ]);
    await world.clock.advance(600_000);
    const { LaunchTemplates } = await world.api.ec2.describeLaunchTemplates({});
    expect(LaunchTemplates.map((one) => one.LaunchTemplateName)).toEqual(["mine"]);
  });

  it("S0-06 S0-07 S0-10 have an AWSNodeTemplate whose status lists the matched subnets, security groups and AMIs", async () => {
    await beginAlpha();
    const template = world.kube.find(AWS_NODE_TEMPLATE, "default");
    expect(template?.status?.subnets).toHaveLength(3);
    expect(template?.status?.securityGroups).toHaveLength(2);
    expect(template?.status?.amis?.length).toBeGreaterThan(2);
  });

  it("S0-44 are not launched if a selector matches nothing, and the log names it", async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the seed's forgotten substitution
    await beginAlpha({ subnetSelector: { "alpha.eksctl.io/cluster-name": "${CLUSTER_NAME}" } });
    expect(world.lines.join("\n")).toContain("no subnets exist given constraints");
  });
});

describe("EC2NodeClass", () => {
  it("S2-19 S3-20 S3-21 becomes Ready with what its selectors match, and has an instance profile for its role", async () => {
    await begin();
    const { status, metadata } = nodeClass();
    expect(status?.conditions?.map((one) => `${one.type}=${one.status}`).sort()).toEqual([
      "AMIsReady=True",
      "CapacityReservationsReady=True",
      "InstanceProfileReady=True",
      "PlacementGroupReady=True",
      "Ready=True",
      "SecurityGroupsReady=True",
      "SubnetsReady=True",
      "ValidationSucceeded=True",
    ]);
    expect(metadata.finalizers).toEqual(["karpenter.k8s.aws/termination"]);
    expect(status?.subnets).toHaveLength(3);
    expect(status?.instanceProfile).toMatch(new RegExp(`^${CLUSTER}_\\d+$`));
    const name = status?.instanceProfile ?? "";
    const { InstanceProfile } = await world.api.iam.getInstanceProfile({
      InstanceProfileName: name,
    });
    expect(InstanceProfile.Roles.map((role) => role.RoleName)).toEqual([
      `KarpenterNodeRole-${CLUSTER}`,
    ]);
  });

  it("S3-12 makes no IAM call if it names an instance profile", async () => {
    const name = `KarpenterNodeInstanceProfile-${CLUSTER}`;
    world = await awsWorld();
    const { role: _, ...spec } = ec2NodeClass().spec;
    await world.kube.create(EC2_NODE_CLASS, {
      ...ec2NodeClass(),
      spec: { ...spec, instanceProfile: name },
    });
    await world.clock.advance(1_000);
    expect(nodeClass().status?.instanceProfile).toBe(name);
    expect(world.aws.journal.calls({ service: "iam" })).toEqual([]);
  });

  it("gets another instance profile for another role, and running nodes keep their profile", async () => {
    await begin();
    world.aws.controls.addRole("other");
    const first = nodeClass().status?.instanceProfile ?? "";
    const claim = await launch();
    await world.kube.create(NODE_CLAIM, { ...claim, metadata: { ...claim.metadata, name: "c" } });
    const roleOf = (name: string) => world.aws.state.profiles.get(name)?.role;
    world.kube.change(EC2_NODE_CLASS, "default", { spec: { role: "path/other" } });
    await world.clock.advance(2_000);
    const second = nodeClass().status?.instanceProfile ?? "";
    expect([roleOf(first), roleOf(second)]).toEqual([`KarpenterNodeRole-${CLUSTER}`, "other"]);
    const other = await launch(awsClaim([], { name: "d" }));
    const { metadata } = other;
    const annotation = "karpenter.k8s.aws/instance-profile-name";
    expect(metadata.annotations?.[annotation]).toBe(second);
    // The profile of the second role is in use again. It is kept while a node has it, and deleted after that.
    await world.kube.create(NODE_CLAIM, { ...claim, metadata: { ...metadata, name: "d" } });
    const role = `KarpenterNodeRole-${CLUSTER}`;
    world.kube.change(EC2_NODE_CLASS, "default", { spec: { role } });
    await world.clock.advance(91 * 60_000);
    expect(nodeClass().status?.instanceProfile).toBe(first);
    expect(roleOf(second)).toBe("other");
    // The NodeClaim disappears, while its instance runs on.
    world.kube.vanish(NODE_CLAIM, "d");
    await world.clock.advance(61 * 60_000);
    expect(roleOf(second)).toBe("other");
    await world.settle(world.cloud.delete(other));
    await world.clock.advance(61 * 60_000);
    expect(world.aws.state.profiles.has(second)).toBe(false);
    expect(roleOf(first)).toBe(role);
  });

  it("says which selector matches nothing", async () => {
    await begin({ amiSelectorTerms: [{ id: "ami-none" }], amiFamily: "AL2023" });
    const conditions = nodeClass().status?.conditions ?? [];
    expect(conditions.find((one) => one.type === "AMIsReady")).toMatchObject({
      status: "False",
      reason: "AMINotFound",
    });
    expect(conditions.find((one) => one.type === "Ready")?.status).toBe("False");
  });

  it("S4-03 waits for its claims, then removes profile and templates and goes", async () => {
    await begin();
    const profile = nodeClass().status?.instanceProfile ?? "";
    const claim = await launch();
    await world.kube.create(NODE_CLAIM, awsClaim([]));
    await world.kube.delete(EC2_NODE_CLASS, { name: "default" });
    await world.clock.advance(5_000);
    expect(nodeClass()).toBeDefined();
    expect(world.events.map((event) => event.reason)).toContain("WaitingOnNodeClaimTermination");
    // An instance without a claim still needs the profile.
    world.kube.vanish(NODE_CLAIM, "claim");
    await world.clock.advance(5 * 60_000);
    const { InstanceProfile } = await world.api.iam.getInstanceProfile({
      InstanceProfileName: profile,
    });
    expect(InstanceProfile.Roles).toHaveLength(1);
    const told = world.events.find(({ reason }) => reason === "WaitingOnInstanceTermination");
    expect(told?.message).toContain(claim.status?.providerID?.split("/").at(-1));
    await world.settle(world.cloud.delete(claim));
    await world.clock.advance(5 * 60_000);
    expect(world.kube.find(EC2_NODE_CLASS, "default")).toBeUndefined();
    await expect(
      world.api.iam.getInstanceProfile({ InstanceProfileName: profile }),
    ).rejects.toMatchObject({ code: "NoSuchEntity" });
    const { LaunchTemplates } = await world.api.ec2.describeLaunchTemplates({});
    expect(LaunchTemplates).toEqual([]);
  });
});

describe("instances of the AWS provider", () => {
  it("S3-29 get the names of claim and node as tags once the node is registered", async () => {
    await begin();
    const claim = await launch();
    expect(await tagsOf(claim)).not.toHaveProperty("karpenter.sh/nodeclaim");
    const status = { ...claim.status, nodeName: "ip-10-0-0-1" };
    await world.kube.create(NODE_CLAIM, { ...claim, status });
    await world.clock.advance(5_000);
    expect(await tagsOf(claim)).toMatchObject({
      Name: "ip-10-0-0-1",
      "karpenter.sh/nodeclaim": "claim",
      "karpenter.sh/nodepool": "default",
      "eks:eks-cluster-name": CLUSTER,
    });
    const stored = world.kube.find(NODE_CLAIM, "claim");
    expect(stored?.metadata.annotations?.["karpenter.k8s.aws/tagged"]).toBe("true");
  });

  it("are listed by their own tags, also where the endpoint ignores filters", async () => {
    await begin();
    const claim = await launch();
    const { ec2 } = world.api;
    const describe = ec2.describeInstances;
    const asked: unknown[] = [];
    Object.assign(ec2, {
      describeInstances: ({ Filters, ...rest }: Parameters<typeof describe>[0]) => {
        asked.push(Filters);
        return describe.call(ec2, rest);
      },
    });
    const listed = await world.settle(world.cloud.list());
    expect(asked).toHaveLength(1);
    expect(listed.map((one) => one.status?.providerID)).toEqual([claim.status?.providerID]);
  });

  it("are listed, found and terminated; instances of the node group are not ours", async () => {
    await begin();
    const claim = await launch();
    const listed = await world.cloud.list();
    expect(listed.map((one) => one.status?.providerID)).toEqual([claim.status?.providerID]);
    expect(listed[0]?.metadata.labels?.["karpenter.sh/nodepool"]).toBe("default");
    await world.settle(world.cloud.delete(claim));
    const going = await world.settle(world.cloud.get(claim.status?.providerID ?? ""));
    expect(going.metadata.deletionTimestamp).toBeDefined();
    await world.clock.advance(120_000);
    await expect(world.settle(world.cloud.delete(claim))).rejects.toThrow(NodeClaimNotFoundError);
    expect(await world.cloud.list()).toEqual([]);
  });

  it("are not terminated or rebooted for a claim that names an instance which Karpenter did not launch", async () => {
    await begin();
    const claim = await launch();
    await world.clock.advance(60_000);
    const { instances } = world.aws.state;
    const foreign = [...instances.values()].find(({ fleetId }) => fleetId === undefined);
    const providerID = `aws:///${foreign?.zone}/${foreign?.id}`;
    const edited = { ...claim, status: { ...claim.status, providerID } };
    const words = `instance ${foreign?.id} is not`;
    await expect(world.settle(world.cloud.delete(edited))).rejects.toThrow(`${words} ended`);
    await expect(world.settle(world.cloud.reboot(edited, "x"))).rejects.toThrow(
      `${words} rebooted`,
    );
    await world.clock.advance(60_000);
    expect(foreign && instances.get(foreign.id)?.state).toBe("running");
  });

  it("are rebooted, and the error is final if the role may not or the instance has ended", async () => {
    await begin();
    const claim = await launch();
    await world.clock.advance(60_000);
    const reboot = () => world.settle(world.cloud.reboot(claim, "operation"));
    await reboot();
    const calls = world.aws.journal.calls({ action: "RebootInstances" });
    expect(calls.map(({ input }) => input)).toEqual([
      { InstanceIds: [claim.status?.providerID?.split("/").at(-1)] },
    ]);
    for (const [code, name] of [
      ["UnauthorizedOperation", "RebootRefusedError"],
      ["InvalidInstanceID.NotFound", "NodeClaimNotFoundError"],
      ["InternalError", "AwsError"],
    ] as const) {
      const fault = { action: "RebootInstances", code, message: "no", status: 400 };
      const undo = world.aws.faults.failCalls(fault);
      await expect(reboot()).rejects.toThrow(expect.objectContaining({ name }));
      undo();
    }
    await world.settle(world.cloud.delete(claim));
    await world.clock.advance(120_000);
    await expect(reboot()).rejects.toThrow(NodeClaimNotFoundError);
  });

  it("drift if the static fields of the class change", async () => {
    await begin();
    const claim = await launch();
    expect(await world.settle(world.cloud.isDrifted(claim))).toBeUndefined();
    world.kube.change(EC2_NODE_CLASS, "default", { spec: { userData: "echo changed" } });
    await world.clock.advance(1_000);
    expect(await world.settle(world.cloud.isDrifted(claim))).toBe("NodeClassDrift");
  });
});

describe("AMI families", () => {
  const families = ["AL2", "Ubuntu", "Bottlerocket", "Windows2019", "Windows2022"];

  it.each(families)(
    "S0-09 %s nodes of v1alpha5 join with the claim's labels and taints",
    async (family) => {
      await beginAlpha({
        amiFamily: family,
        instanceProfile: `KarpenterNodeInstanceProfile-${CLUSTER}`,
      });
      const claim = machine();
      const taint = { key: "team", value: "a", effect: "NoSchedule" } as const;
      await launch({ ...claim, spec: { ...claim.spec, taints: [taint] } });
      await world.clock.advance(10_000);
      const { kubelet, problem } = world.instances.find((event) => event.type === "running") ?? {};
      expect(problem).toBeUndefined();
      expect(kubelet?.labels).toMatchObject({
        "karpenter.sh/provisioner-name": "default",
        "karpenter.sh/capacity-type": "on-demand",
      });
      expect(kubelet?.taints).toContainEqual(taint);
      expect(kubelet?.taints.map((one) => one.key)).not.toContain("karpenter.sh/unregistered");
    },
  );

  it.each([
    ["al2@latest", 32],
    ["al2023@latest", 34],
    ["bottlerocket@latest", 34],
    ["windows2022@latest", 34],
    ["windows2025@latest", 35],
  ])(
    "%s nodes of Kubernetes 1.%i have the resources that the planner promised",
    async (alias, minor) => {
      await begin({ amiSelectorTerms: [{ alias }] }, {}, { minor });
      const claim = await launch();
      await world.clock.advance(10_000);
      const { kubelet } = world.instances.find((event) => event.type === "running") ?? {};
      const promised = claim.status?.allocatable ?? {};
      expect(kubelet?.allocatable).toMatchObject({ cpu: promised["cpu"], pods: promised["pods"] });
      expect(claim.metadata.labels?.["kubernetes.io/os"]).toBe(
        alias.startsWith("windows") ? "windows" : "linux",
      );
    },
  );

  it("get the class's number of pods in one launch template, and run no more than podsPerCore allows", async () => {
    await begin(
      { kubelet: { maxPods: 42, podsPerCore: 8 }, amiSelectorTerms: [{ alias: "al2@latest" }] },
      {},
      { minor: 32 },
    );
    const types = ["m5.large", "m5.xlarge"];
    const claim = await launch(
      awsClaim([{ key: "node.kubernetes.io/instance-type", operator: "In", values: types }]),
    );
    expect(claim.status?.capacity?.["pods"]).toBe(
      claim.metadata.labels?.["node.kubernetes.io/instance-type"] === "m5.large" ? "16" : "32",
    );
    expect(userDataOfAll()).toEqual([expect.stringContaining(" --max-pods=42 --pods-per-core=8")]);
  });

  it("of Bottlerocket take the version from the image's name if no alias gives one", async () => {
    await begin({
      amiFamily: "Bottlerocket",
      amiSelectorTerms: [{ name: "bottlerocket-aws-k8s-1.34-x86_64-*" }],
      instanceStorePolicy: "RAID0",
    });
    await launch();
    expect(userDataOfAll()[0]).toContain('"ephemeral-storage", "bind" ]');
  });

  it("use the image with drivers for types with GPUs", async () => {
    await begin();
    const claim = await launch(awsClaim(onlyType("g4dn.xlarge")));
    const images = await world.api.ec2.describeImages({ ImageIds: [claim.status?.imageID ?? ""] });
    expect(images.Images[0]?.Name).toContain("nvidia");
    expect(claim.status?.capacity?.["nvidia.com/gpu"]).toBe("1");
  });

  it("S0-10 S3-05 S3-06 use images by name, the newest first, and offer no type without an image", async () => {
    await begin({ amiFamily: "AL2023", amiSelectorTerms: [{ name: "own-*", owner: "self" }] });
    const { addImage } = world.aws.controls;
    addImage({ id: "ami-old", name: "own-1", family: "AL2023", createdMs: 1_000 });
    addImage({ id: "ami-new", name: "own-2", family: "AL2023", createdMs: 2_000 });
    await world.clock.advance(180_000);
    expect(nodeClass().status?.amis?.map((ami) => ami.id)).toEqual(["ami-new"]);
    expect((await launch()).status?.imageID).toBe("ami-new");
    const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
    const arm = types.find(({ name }) => name === "m6g.large");
    expect(arm?.offerings.some((one) => one.available)).toBe(false);
  });
});

describe("claims of v1beta1", () => {
  it("S2-23 S3-28 S3-30 S3-31 S3-33 S3-34 give instances v1beta1's tags beside the user's", async () => {
    await begin({
      tags: {
        "test-tag": "test-value",
        Name: "mine",
        "karpenter.sh/discovery": "x",
        "karpenter.sh/managed-by": "me",
      },
    });
    const claim = awsClaim(SMALL, {
      annotations: { "compatibility.karpenter.sh/generation": "v1beta1" },
    });
    expect(await tagsOf(await launch(claim))).toMatchObject({
      "test-tag": "test-value",
      Name: "mine",
      "karpenter.sh/discovery": "x",
      "karpenter.sh/managed-by": CLUSTER,
      "karpenter.sh/nodepool": "default",
      "karpenter.k8s.aws/ec2nodeclass": "default",
      [`kubernetes.io/cluster/${CLUSTER}`]: "owned",
    });
  });
});
