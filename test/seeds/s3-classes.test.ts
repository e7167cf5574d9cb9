/** Seed S3, EC2NodeClass: the effect of its fields on EC2, its status, tags, private clusters. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { BoxOptions } from "../../src/cli/sandbox/box.ts";
import {
  type Account,
  CLAIMS,
  CLASSES,
  conditionOf,
  inAccount,
  type Json,
  POOLS,
  seed,
  tagMap,
  userDataOf,
} from "./account.ts";

const POLICY = fileURLToPath(new URL("../fixtures/seeds/s3-60-irsa-policy.json", import.meta.url));
const FOO: Partial<BoxOptions> = { clusterName: "foo-cluster" };

/** What the seed expects in the account: named subnets, a group, images, the role. */
function prepare({ world }: Account, freeAddresses: readonly number[] = []): string[] {
  const { controls } = world.box.sandbox.aws;
  const named = (Value: string) => [{ Key: "Name", Value }];
  const subnets = ["c", "b", "a"].map((zone, index) => {
    const free = freeAddresses[index];
    return controls.addSubnet({
      zone: `us-west-2${zone}`,
      cidr: `10.0.${index + 1}.0/24`,
      tags: named("foo-private-subnet"),
      ...(free === undefined ? {} : { freeAddresses: free }),
    });
  });
  controls.addSecurityGroup({ name: "foo-group", tags: named("foo-private-sg") });
  controls.addRole("foo-node-role");
  controls.addInstanceProfile("foo-instance-profile", "foo-node-role");
  for (const [name, family, architecture] of [
    ["foo-ami-x86", "AL2", "x86_64"],
    ["foo-ami-arm", "AL2", "arm64"],
  ] as const) {
    controls.addImage({ name, family, architecture });
  }
  return subnets;
}

/** A pod for a node of the pool foo-nodepool-large. */
const onFoo = {
  cpu: "1",
  spec: { nodeSelector: { "node.kubernetes.io/nodetype": "foo" } },
};

describe("S3: the EC2NodeClass of the examples", () => {
  it("sets launch template, instance and volumes as written (S3-01, S3-08, S3-10, S3-14, S3-19, S3-22, S3-25, S3-26, S3-27, S3-32, S3-36, S3-37)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const { aws } = world.box.sandbox;
      prepare(account);
      const script = "#!/bin/bash\necho of-the-user\n";
      await world.apply(seed("s3-30-ec2nodeclass-full.yaml", { spec: { userData: script } }));
      await world.applySeed("s3-33-nodepool-large-limits.yaml");
      await account.deploy("app", 1, onFoo);
      await account.running("app", 1);

      const [template] = account.templates();
      const data = template?.LaunchTemplateData;
      expect(data?.BlockDeviceMappings).toEqual([
        {
          DeviceName: "/dev/xvda",
          Ebs: { VolumeSize: 100, VolumeType: "gp3", Encrypted: true },
        },
      ]);
      expect(data?.Monitoring?.Enabled).toBe(true);
      const text = userDataOf(template);
      expect(text).toMatch(/^Content-Type: multipart\/mixed/m);
      expect(text.indexOf("echo of-the-user")).toBeGreaterThan(0);
      expect(text.indexOf("/etc/eks/bootstrap.sh 'foo-cluster'")).toBeGreaterThan(
        text.indexOf("echo of-the-user"),
      );

      const { status } = await account.read(`${CLASSES}/foo-node-class`);
      expect(status.instanceProfile).toMatch(/^foo-cluster/);
      expect(data?.IamInstanceProfile?.Name).toBe(status.instanceProfile);
      expect(
        aws.journal.calls({ service: "iam", failed: false }).map(({ action }) => action),
      ).toEqual(expect.arrayContaining(["CreateInstanceProfile", "AddRoleToInstanceProfile"]));
      expect(aws.journal.calls({ action: "GetInstanceProfile" })).not.toEqual([]);
      expect(aws.state.profiles.get(status.instanceProfile)?.role).toBe("foo-node-role");

      const user = {
        Env: "prd",
        ManagedBy: "https://github.com/hiroki-hasegawa/foo-karpenter.git",
        Name: "bar-cluster-foo-karpenter",
        "karpenter.sh/discovery": "foo-cluster",
      };
      const [instance] = await account.instances();
      const id = instance?.InstanceId ?? "";
      const ofInstance = await account.tags(id);
      expect(ofInstance).toMatchObject(user);
      const [volume] = [...aws.state.volumes.values()].filter((one) => one.instanceId === id);
      expect(await account.tags(volume?.id ?? "")).toMatchObject(user);
      expect(volume).toMatchObject({ sizeGib: 100, type: "gp3", encrypted: true });
      const [fleet] = account.fleets();
      const specs = Object.fromEntries(
        (fleet?.TagSpecifications ?? []).map(({ ResourceType, Tags }) => [
          ResourceType,
          tagMap(Tags),
        ]),
      );
      for (const what of ["instance", "volume", "fleet"]) expect(specs[what]).toMatchObject(user);
      const ofTemplate = tagMap(template?.TagSpecifications?.[0]?.Tags);
      expect(ofTemplate).toMatchObject({ ...user, "karpenter.k8s.aws/cluster": "foo-cluster" });
      expect(data?.TagSpecifications?.map(({ ResourceType }) => ResourceType)).toEqual([
        "network-interface",
      ]);

      expect(ofInstance["aws:ec2:fleet-id"]).toMatch(/^fleet-/);
      const record = [...aws.state.launchTemplates.values()].find(
        ({ name }) => name === template?.LaunchTemplateName,
      );
      expect(ofInstance["aws:ec2launchtemplate:id"]).toBe(record?.id);
      expect(ofInstance["aws:ec2launchtemplate:version"]).toBe("1");
      expect(ofInstance["aws:eks:cluster-name"]).toBe("foo-cluster");

      aws.controls.tag(id, [{ Key: "by-terraform", Value: "yes" }]);
      await world.advance(600_000);
      expect(await account.tags(id)).toMatchObject({ ...user, "by-terraform": "yes" });
    }, FOO));

  it("works with its named profile while IAM is unreachable, and does not work with a role (S3-13)", () =>
    inAccount(async (account) => {
      const { world } = account;
      prepare(account);
      world.box.sandbox.aws.faults.unreachable("iam");
      await world.applySeed("s3-30-ec2nodeclass-full.yaml");
      await world.applySeed("s3-30b-ec2nodeclass-instanceprofile.yaml");
      await world.applySeed("s3-33-nodepool-large-limits.yaml");
      await account.deploy("app", 1, onFoo);
      await world.advance(60_000);
      expect(account.fleets()).toEqual([]);
      expect(account.said("ERROR").join("\n")).toContain(
        "resolving ec2nodeclass, NetworkingError: connect ECONNREFUSED iam",
      );
      await world.apply(
        seed(
          "s3-33-nodepool-large-limits.yaml",
          { spec: { template: { spec: { nodeClassRef: { name: "foo-node-class-private" } } } } },
          "private",
        ),
      );
      await account.running("app", 1);
      const names = account
        .templates()
        .map((one) => one.LaunchTemplateData.IamInstanceProfile?.Name);
      expect(new Set(names)).toEqual(new Set(["foo-instance-profile"]));
    }, FOO));

  it("tags launch templates so that a policy can require it; without the tag the refusal is reported (S3-35)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const { aws } = world.box.sandbox;
      prepare(account);
      const text = readFileSync(POLICY, "utf8").replaceAll("111122223333", aws.state.accountId);
      aws.controls.setPolicy(JSON.parse(text));
      const bare = { spec: { tags: { "karpenter.sh/discovery": null } } };
      await world.apply(seed("s3-30-ec2nodeclass-full.yaml", bare));
      await world.applySeed("s3-33-nodepool-large-limits.yaml");
      await account.deploy("app", 1, onFoo);
      await world.advance(15_000);
      const refusal = "UnauthorizedOperation: You are not authorized to perform this operation.";
      expect(account.said(refusal).join("\n")).toContain("ERROR");
      const [claim] = await account.items(CLAIMS);
      expect(conditionOf(claim, "Launched")).toMatchObject({
        reason: "Unauthorized",
        message: expect.stringContaining("not authorized to perform this operation"),
      });
      expect(await account.instances()).toEqual([]);

      await world.applySeed("s3-30-ec2nodeclass-full.yaml");
      await account.running("app", 1);
    }, FOO));

  it("keeps pods pending that need more disk than the volume has, with an event (S3-09)", () =>
    inAccount(async (account) => {
      const { world } = account;
      prepare(account);
      await world.apply(
        seed("s3-30-ec2nodeclass-full.yaml", { spec: { blockDeviceMappings: null } }),
      );
      await world.applySeed("s3-33-nodepool-large-limits.yaml");
      await account.deploy("app", 1, {
        ...onFoo,
        requests: { cpu: "1", "ephemeral-storage": "50Gi" },
      });
      await world.advance(30_000);
      expect(account.fleets()).toEqual([]);
      expect((await account.events("Pod")).join("\n")).toContain(
        "no instance type satisfied resources",
      );
      await world.applySeed("s3-30-ec2nodeclass-full.yaml");
      await account.running("app", 1);
    }, FOO));
});

describe("S3: an EC2NodeClass in the API server", () => {
  it("is cluster-scoped, as NodePools are (S3-02, S3-40)", () =>
    inAccount(async (account) => {
      for (const [group, path, plural, file] of [
        ["karpenter.k8s.aws", CLASSES, "ec2nodeclasses", "s3-30-ec2nodeclass-full.yaml"],
        ["karpenter.sh", POOLS, "nodepools", "s3-31-nodepool-full-1.yaml"],
      ] as const) {
        const { resources } = await account.read(`/apis/${group}/v1beta1`);
        expect(resources.find(({ name }: Json) => name === plural).namespaced).toBe(false);
        const object = seed(file, { metadata: { namespace: "x" } });
        const made = await account.send("POST", path, object);
        expect(made.status).toBe(201);
        expect(made.body.metadata).not.toHaveProperty("namespace");
        const inside = `/apis/${group}/v1beta1/namespaces/x/${plural}`;
        expect((await account.send("POST", inside, object)).status).toBe(404);
        expect((await account.send("GET", `${inside}/${object.metadata.name}`)).status).toBe(404);
      }
    }));

  it("gets IMDS defaults, needs a family, and only the controller may write its status (S3-04, S3-11, S3-17, S3-18)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const subnets = prepare(account, [300, 200, 100]);
      const without = seed("s3-30-ec2nodeclass-full.yaml", { spec: { amiFamily: null } });
      const refused = await account.send("POST", CLASSES, without);
      expect(refused.status).toBe(422);
      expect(refused.body.message).toContain("spec.amiFamily");

      const status = { instanceProfile: "mine", subnets: [{ id: "subnet-1", zone: "x" }] };
      const plain = seed("s3-30-ec2nodeclass-full.yaml", {
        spec: { metadataOptions: null, amiSelectorTerms: null },
        status,
      });
      const made = await account.send("POST", CLASSES, plain);
      expect(made.body.spec.metadataOptions).toEqual({
        httpEndpoint: "enabled",
        httpProtocolIPv6: "disabled",
        httpPutResponseHopLimit: 2,
        httpTokens: "required",
      });
      expect(made.body.status ?? {}).not.toMatchObject(status);
      await world.advance(1_000);
      const found = (await account.read(`${CLASSES}/foo-node-class`)).status;
      expect(found.subnets.map(({ id }: Json) => id)).toEqual(subnets);
      expect(found.instanceProfile).toMatch(/^karpenter-demo_/);
      await account.patch(`${CLASSES}/foo-node-class`, { status: { instanceProfile: "mine" } });
      const still = (await account.read(`${CLASSES}/foo-node-class`)).status;
      expect(still.instanceProfile).toBe(found.instanceProfile);

      expect(found.amis).toHaveLength(4);
      const arm = found.amis.find(({ requirements }: Json) =>
        requirements.some(({ values }: Json) => values?.includes("arm64")),
      );
      expect(arm.requirements).toEqual(
        expect.arrayContaining([
          { key: "kubernetes.io/arch", operator: "In", values: ["arm64"] },
          { key: "karpenter.k8s.aws/instance-gpu-count", operator: "DoesNotExist" },
          { key: "karpenter.k8s.aws/instance-accelerator-count", operator: "DoesNotExist" },
        ]),
      );
      const image = world.box.sandbox.aws.state.images.get(arm.id)?.image;
      expect(arm.name).toBe(image?.Name);
      const asked = world.box.sandbox.aws.journal
        .inputs<{ Name: string }>("GetParameter")
        .map(({ Name }) => Name);
      expect(asked).toContain(
        "/aws/service/eks/optimized-ami/1.34/amazon-linux-2/recommended/image_id",
      );
    }));
});
