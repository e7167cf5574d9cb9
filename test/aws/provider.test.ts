/**
 * The whole provider from discovery to termination, against moto, an AWS that another project wrote. moto lacks
 * EKS' SSM parameters, so images are chosen by id, name or tag.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS } from "../../src/apis/aws/ec2nodeclass.ts";
import { condition } from "../../src/apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../src/apis/karpenter/nodeclaim.ts";
import type { Instance } from "../../src/providers/aws/api/instances.ts";
import type { LaunchTemplateData } from "../../src/providers/aws/api/launches.ts";
import { fromTagList } from "../../src/providers/aws/tags/tags.ts";
import { awsClaim, ec2NodeClass } from "../../src/testing/aws-world.ts";
import { pool } from "../../src/testing/builders.ts";
import { awsJson, type Moto, startMoto } from "./moto.ts";
import { type Account, CLUSTER, prepareAccount, ROLE, startProvider } from "./moto-world.ts";

const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const DISCOVERY = [{ tags: { "karpenter.sh/discovery": CLUSTER } }];

let moto: Moto;
let account: Account;
let provider: Awaited<ReturnType<typeof startProvider>>;

beforeAll(async () => {
  moto = await startMoto();
  account = await prepareAccount(moto);
  provider = await startProvider(moto.api, { interruptionQueue: CLUSTER });
  await provider.kube.create(
    EC2_NODE_CLASS,
    ec2NodeClass({
      amiFamily: "AL2023",
      amiSelectorTerms: DISCOVERY,
      subnetSelectorTerms: DISCOVERY,
      securityGroupSelectorTerms: DISCOVERY,
      role: ROLE,
      tags: { team: "a" },
    }),
  );
});

afterAll(async () => {
  await provider?.stop();
  await moto?.close();
});

function claimOf(name: string, capacityType: string, types: readonly string[]): NodeClaim {
  return awsClaim(
    [
      { key: "node.kubernetes.io/instance-type", operator: "In", values: types },
      { key: "karpenter.sh/capacity-type", operator: "In", values: [capacityType] },
    ],
    { name },
  );
}

async function instanceOf(claim: NodeClaim): Promise<Instance> {
  const id = claim.status?.providerID?.split("/").at(-1) ?? "";
  const { Reservations } = await moto.api.ec2.describeInstances({ InstanceIds: [id] });
  const found = Reservations[0]?.Instances[0];
  if (found === undefined) throw new Error(`moto knows no instance ${id}`);
  return found;
}

/** The security group that each VPC has by default. The class does not select it. */
async function defaultGroup(): Promise<string> {
  const ask = ["ec2", "describe-security-groups", "--filters", "Name=group-name,Values=default"];
  const { SecurityGroups } = await awsJson<{ SecurityGroups: { GroupId: string }[] }>(
    moto.url,
    ask,
  );
  return SecurityGroups[0]?.GroupId ?? "";
}

describe("the provider on moto", () => {
  it("resolves what the class selects, creates an instance profile for its role, and makes the class ready", async () => {
    const ready = await provider.until("class ready", () => {
      const found = provider.nodeClass();
      return found !== undefined && condition(found, "Ready")?.status === "True" ? found : false;
    });
    const { status } = ready;
    expect(status?.subnets?.map((one) => one.id).sort()).toEqual([...account.subnetIds].sort());
    expect(status?.securityGroups).toEqual([{ id: account.securityGroupId, name: "nodes" }]);
    expect(status?.amis?.map((one) => one.id).sort()).toEqual([...account.imageIds].sort());
    const { InstanceProfile } = await moto.api.iam.getInstanceProfile({
      InstanceProfileName: status?.instanceProfile ?? "",
    });
    expect(InstanceProfile.Roles.map((role) => role.RoleName)).toEqual([ROLE]);
    expect(fromTagList(InstanceProfile.Tags ?? [])).toMatchObject({
      team: "a",
      [`kubernetes.io/cluster/${CLUSTER}`]: "owned",
      "karpenter.k8s.aws/ec2nodeclass": "default",
    });
  });

  it.each([
    ["id", () => [{ id: account.imageIds[0] as string }], 1],
    ["name and owner", () => [{ name: "nodes-*", owner: "self" }], 2],
    ["tag", () => DISCOVERY, 2],
  ])("finds images by %s", async (how, terms, count) => {
    const name = how.replaceAll(" ", "-");
    const one = ec2NodeClass({
      amiFamily: "AL2023",
      amiSelectorTerms: terms(),
      subnetSelectorTerms: DISCOVERY,
      securityGroupSelectorTerms: DISCOVERY,
      role: ROLE,
    });
    await provider.kube.create(EC2_NODE_CLASS, { ...one, metadata: { name } });
    const amis = await provider.until(`images by ${how}`, () => {
      return provider.kube.find(EC2_NODE_CLASS, name)?.status?.amis;
    });
    expect(amis).toHaveLength(count);
    await provider.kube.delete(EC2_NODE_CLASS, { name });
    await provider.until(`${name} gone`, () => {
      return provider.kube.find(EC2_NODE_CLASS, name) === undefined;
    });
  });

  it("lists over a thousand types with zones and prices, as far as moto has them", async () => {
    const types = await provider.cloud.getInstanceTypes(pool({ classRef: CLASS_REF }));
    expect(types.length).toBeGreaterThan(1_000);
    const m5 = types.find((type) => type.name === "m5.large");
    expect(m5?.labels["karpenter.k8s.aws/instance-cpu"]).toEqual(["2"]);
    expect(m5?.capacity["pods"]).toBe(29);
    const available = m5?.offerings.filter((one) => one.available && one.priceMicroUsd > 0) ?? [];
    expect(new Set(available.map((one) => one.zone)).size).toBe(3);
  });

  it.each(["on-demand", "spot"])(
    "launches %s with its tags, user data and instance profile",
    async (kind) => {
      const claim = claimOf(`c-${kind}`, kind, ["m5.large", "m5.xlarge"]);
      const launched = await provider.cloud.create(claim);
      const instance = await instanceOf(launched);
      expect(["m5.large", "m5.xlarge"]).toContain(instance.InstanceType);
      expect(launched.metadata.labels).toMatchObject({
        "node.kubernetes.io/instance-type": instance.InstanceType,
        "topology.kubernetes.io/zone": instance.Placement.AvailabilityZone,
        "karpenter.sh/capacity-type": kind,
      });
      expect(fromTagList(instance.Tags)).toMatchObject({
        team: "a",
        [`kubernetes.io/cluster/${CLUSTER}`]: "owned",
        "karpenter.sh/nodepool": "default",
        "eks:eks-cluster-name": CLUSTER,
        "karpenter.k8s.aws/ec2nodeclass": "default",
      });
      // Whatever the template says, moto gives spot instances the VPC's default security group, and on-demand instances
      // none. EC2 has no instances without a group, so such an answer proves no drift.
      const wrongGroup = kind === "spot" ? "SecurityGroupDrift" : undefined;
      expect(await provider.cloud.isDrifted(launched)).toBe(wrongGroup);
      const setGroup = (id: string) =>
        awsJson(moto.url, [
          ...["ec2", "modify-instance-attribute", "--instance-id", instance.InstanceId],
          ...["--groups", id],
        ]);
      await setGroup(await defaultGroup());
      expect(await provider.cloud.isDrifted(launched)).toBe("SecurityGroupDrift");
      await setGroup(account.securityGroupId);
      expect(await provider.cloud.isDrifted(launched)).toBeUndefined();
      const again = await provider.cloud.get(launched.status?.providerID ?? "");
      expect(again.metadata.labels?.["karpenter.sh/capacity-type"]).toBe(kind);
      const listed = await provider.cloud.list();
      expect(listed.map((one) => one.status?.providerID)).toContain(launched.status?.providerID);
      await provider.cloud.delete(launched);
      await expect(provider.cloud.get(launched.status?.providerID ?? "")).rejects.toThrow(
        "not found",
      );
    },
  );

  it("writes the settings of the class into the launch template", async () => {
    const ask = ["ec2", "describe-launch-template-versions", "--versions", "$Latest"];
    const { LaunchTemplates } = await moto.api.ec2.describeLaunchTemplates({});
    const name = LaunchTemplates[0]?.LaunchTemplateName ?? "";
    expect(fromTagList(LaunchTemplates[0]?.Tags ?? [])).toMatchObject({ team: "a" });
    const { LaunchTemplateVersions } = await awsJson<{
      LaunchTemplateVersions: { LaunchTemplateData: LaunchTemplateData }[];
    }>(moto.url, [...ask, "--launch-template-name", name]);
    const data = LaunchTemplateVersions[0]?.LaunchTemplateData;
    expect(account.imageIds).toContain(data?.ImageId);
    expect(data?.IamInstanceProfile).toEqual({
      Name: provider.nodeClass()?.status?.instanceProfile,
    });
    expect(data?.NetworkInterfaces?.[0]?.Groups).toEqual([account.securityGroupId]);
    expect(data?.MetadataOptions).toMatchObject({ HttpTokens: "required" });
    expect(Buffer.from(data?.UserData ?? "", "base64").toString()).toContain("kind: NodeConfig");
  });

  it("launches arm64 instances with the image for arm64", async () => {
    const launched = await provider.cloud.create(claimOf("arm", "on-demand", ["m6g.large"]));
    expect((await instanceOf(launched)).ImageId).toBe(account.imageIds[1]);
    await provider.cloud.delete(launched);
  });

  it("tags an instance with its node's name once the node is known", async () => {
    const launched = await provider.cloud.create(claimOf("named", "on-demand", ["m5.large"]));
    const status = { ...launched.status, nodeName: "ip-10-0-0-1" };
    await provider.kube.create(NODE_CLAIM, { ...launched, status });
    await provider.until("tagged", () => {
      const found = provider.kube.find(NODE_CLAIM, "named");
      return found?.metadata.annotations?.["karpenter.k8s.aws/tagged"] === "true";
    });
    expect(fromTagList((await instanceOf(launched)).Tags)).toMatchObject({
      Name: "ip-10-0-0-1",
      "karpenter.sh/nodeclaim": "named",
    });
  });

  it("deletes a claim for which the queue holds an interruption, and then the message", async () => {
    const claim = provider.kube.find(NODE_CLAIM, "named") as NodeClaim;
    const instance = claim.status?.providerID?.split("/").at(-1);
    const body = JSON.stringify({
      version: "0",
      source: "aws.ec2",
      "detail-type": "EC2 Spot Instance Interruption Warning",
      detail: { "instance-id": instance, "instance-action": "terminate" },
    });
    const send = ["sqs", "send-message", "--queue-url", account.queueUrl, "--message-body", body];
    await awsJson(moto.url, send);
    await provider.until("claim gone", () => {
      return provider.kube.find(NODE_CLAIM, "named") === undefined;
    });
    expect(provider.events.map((event) => event.reason)).toContain("SpotInterrupted");
    await provider.cloud.delete(claim);
    const ask = ["sqs", "get-queue-attributes", "--queue-url", account.queueUrl];
    await provider.until("nothing waits", () => provider.events.length > 0);
    const { Attributes } = await awsJson<{ Attributes: Record<string, string> }>(moto.url, [
      ...ask,
      "--attribute-names",
      "All",
    ]);
    expect(Attributes["ApproximateNumberOfMessages"]).toBe("0");
  });

  it("leaves no instance profile, launch template or instance once its class is deleted", async () => {
    const profile = provider.nodeClass()?.status?.instanceProfile ?? "";
    const before = await moto.api.ec2.describeLaunchTemplates({});
    expect(before.LaunchTemplates.length).toBeGreaterThan(0);
    await provider.kube.delete(EC2_NODE_CLASS, { name: "default" });
    await provider.until("class gone", () => provider.nodeClass() === undefined);
    await expect(
      moto.api.iam.getInstanceProfile({ InstanceProfileName: profile }),
    ).rejects.toMatchObject({ code: "NoSuchEntity" });
    expect((await moto.api.ec2.describeLaunchTemplates({})).LaunchTemplates).toEqual([]);
    const { Reservations } = await moto.api.ec2.describeInstances({});
    const states = Reservations.flatMap((one) => one.Instances.map(({ State }) => State.Name));
    expect(new Set(states)).toEqual(new Set(["terminated"]));
  });

  it("uses its bundled prices, and says so, because moto answers no Pricing call", () => {
    expect(provider.lines.join("\n")).toContain(
      "retrieving on-demand pricing data, using existing",
    );
  });
});
