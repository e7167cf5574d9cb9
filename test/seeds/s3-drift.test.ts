/** Seed S3: changes to what the terms of an EC2NodeClass select. Running nodes then drift and are replaced. */
import { describe, expect, it } from "vitest";
import {
  type Account,
  CLAIMS,
  CLASSES,
  conditionOf,
  inAccount,
  type Json,
  seed,
} from "./account.ts";

const CLASS = `${CLASSES}/foo-node-class`;
const AL2_PARAMETER = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2/recommended/image_id";
/** Karpenter checks the class every minute, images every five, claims every five. */
const SOON_MS = 15 * 60_000;

const named = (Value: string) => [{ Key: "Name", Value }];

/**
 * One running node. Each zone has two subnets, one of them with the name that the class selects; two groups are
 * alike.
 */
async function oneNode(
  account: Account,
  spec: Json = {},
): Promise<{ groups: string[]; spare: string[] }> {
  const { world } = account;
  const { controls } = world.box.sandbox.aws;
  const subnets = (name: string, third: number) =>
    ["a", "b", "c"].map((zone, index) =>
      controls.addSubnet({
        zone: `us-west-2${zone}`,
        cidr: `10.0.${third + index}.0/24`,
        tags: named(name),
      }),
    );
  subnets("foo-private-subnet", 1);
  const spare = subnets("foo-spare-subnet", 11);
  const groups = ["foo-private-sg", "foo-other-sg"].map((name) =>
    controls.addSecurityGroup({ name, tags: named(name) }),
  );
  controls.addRole("foo-node-role");
  await world.apply(
    seed("s3-30-ec2nodeclass-full.yaml", { spec: { amiSelectorTerms: null, ...spec } }),
  );
  await world.applySeed("s3-33-nodepool-large-limits.yaml");
  await account.deploy("app", 1, {
    spec: { nodeSelector: { "node.kubernetes.io/nodetype": "foo" } },
  });
  await account.running("app", 1);
  return { groups, spare };
}

const idsOf = async (account: Account, field: string): Promise<string[]> =>
  (await account.read(CLASS)).status[field].map(({ id }: Json) => id).sort();

/** Waits until the only claim drifts for the reason, then until another claim has replaced it. */
async function replaced(account: Account, reason: string): Promise<void> {
  const { world } = account;
  const [before, ...others] = await account.items(CLAIMS);
  expect(others).toEqual([]);
  expect(conditionOf(before, "Drifted")).toBeUndefined();
  const path = `${CLAIMS}/${before.metadata.name}`;
  await world.until(
    `the claim drifts: ${reason}`,
    async () => conditionOf(await account.read(path), "Drifted")?.status === "True",
    SOON_MS,
  );
  expect(conditionOf(await account.read(path), "Drifted").reason).toBe(reason);
  await world.until(
    "another took its place",
    async () => (await account.send("GET", path)).status === 404,
  );
  await account.running("app", 1);
}

describe("S3: nodes drift", () => {
  it("when the named security groups change (S3-15)", () =>
    inAccount(async (account) => {
      const { groups } = await oneNode(account);
      expect(await idsOf(account, "securityGroups")).toEqual([groups[0]]);
      account.world.box.sandbox.aws.controls.tag(groups[1] as string, named("foo-private-sg"));
      await replaced(account, "SecurityGroupDrift");
      expect(await idsOf(account, "securityGroups")).toEqual([...groups].sort());
      const [instance] = await account.instances();
      expect(instance?.SecurityGroups?.map(({ GroupId }) => GroupId).sort()).toEqual(
        [...groups].sort(),
      );
    }));

  it("when their subnet is no longer among the named ones (S3-16)", () =>
    inAccount(async (account) => {
      const { spare } = await oneNode(account, {
        subnetSelectorTerms: [{ tags: { Name: "foo-*-subnet" } }],
      });
      const { controls } = account.world.box.sandbox.aws;
      const [instance] = await account.instances();
      const subnet = instance?.SubnetId as string;
      expect(await idsOf(account, "subnets")).toEqual(expect.arrayContaining([subnet, ...spare]));
      controls.tag(subnet, named("somebody-else"));
      await replaced(account, "SubnetDrift");
      const ids = await idsOf(account, "subnets");
      expect(ids).not.toContain(subnet);
      expect(ids).toEqual(expect.arrayContaining(spare));
      const [after] = await account.instances();
      expect(ids).toContain(after?.SubnetId);
    }));

  it("when the family has a newer image, unless an image is named (S3-07)", () =>
    inAccount(async (account) => {
      await oneNode(account);
      const { controls, state } = account.world.box.sandbox.aws;
      const before = state.parameters.get(AL2_PARAMETER);
      const [instance] = await account.instances();
      expect(instance?.ImageId).toBe(before);
      const newer = controls.addImage({
        name: "amazon-eks-node-1.34-v20260301",
        family: "AL2",
        variant: "standard",
        ownerId: state.images.get(before as string)?.image.OwnerId as string,
      });
      controls.setParameter(AL2_PARAMETER, newer);
      await replaced(account, "AMIDrift");
      const [after] = await account.instances();
      expect(after?.ImageId).toBe(newer);
    }));
});
