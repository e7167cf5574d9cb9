/** Seed S0: provisioners and node templates, their defaults, and what admission accepts or refuses. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seedObjects } from "../../src/testing/seed-manifests.ts";
import {
  type Account,
  inAccount,
  MACHINES,
  openAccount,
  PROVISIONERS,
  seed,
  TEMPLATES,
  userDataOf,
} from "./account.ts";

describe("AWSNodeTemplates of seed S0", () => {
  let account: Account;

  beforeAll(async () => {
    account = await openAccount();
  });
  afterAll(() => account.world.close());

  it("show in their status the subnets and groups that the first chapter's selectors find (S0-06, S0-07, S0-18)", async () => {
    const { aws } = account.world.box.sandbox;
    const hidden = aws.controls.addSubnet({ zone: "us-west-2a", cidr: "10.0.8.0/24" });
    const tagged = [...aws.state.subnets.keys()].filter((id) => id !== hidden).sort();
    await account.world.applySeed("s0-02-nodetemplate-default.yaml");
    await account.world.advance(1_000);
    const { status } = await account.read(`${TEMPLATES}/default`);
    expect(idsOf(status.subnets)).toEqual(tagged);
    expect(status.subnets).toHaveLength(3);
    expect(idsOf(status.securityGroups)).toEqual([...aws.state.securityGroups.keys()].sort());
    expect(aws.journal.inputs("DescribeSubnets")[0]).toMatchObject({
      Filters: [{ Name: "tag:alpha.eksctl.io/cluster-name", Values: ["karpenter-demo"] }],
    });
  });

  it("are created once, and exist already the second time (S0-21)", async () => {
    const [body] = seedObjects("s0-03-custom_ami_node_template.yaml");
    expect((await account.send("POST", TEMPLATES, body)).status).toBe(201);
    expect(await account.send("POST", TEMPLATES, body)).toMatchObject({
      status: 409,
      body: {
        reason: "AlreadyExists",
        message: 'awsnodetemplates.karpenter.k8s.aws "custom" already exists',
      },
    });
  });

  it("appear in a column of the provisioners that refer to them (S0-22)", async () => {
    await account.world.applySeed("s0-04-custom_karpenter_provisioner.yaml");
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const { body } = await account.send("GET", `${PROVISIONERS}?limit=500`, undefined, { accept });
    const names = body.columnDefinitions.map(({ name }: { name: string }) => name.toUpperCase());
    expect(names).toContain("TEMPLATE");
    expect(body.rows[0].cells[names.indexOf("TEMPLATE")]).toBe("custom");
  });

  it("are described by the OpenAPI document against which kubectl create validates (S0-27)", async () => {
    const { definitions } = await account.read("/openapi/v2");
    const kinds = Object.values<Record<string, { group: string; kind: string }[]>>(definitions)
      .flatMap((one) => one["x-kubernetes-group-version-kind"] ?? [])
      .map(({ group, kind }) => `${kind}.${group}`);
    expect(kinds).toContain("Provisioner.karpenter.sh");
    expect(kinds).toContain("AWSNodeTemplate.karpenter.k8s.aws");
  });

  it("need a name (S0-41)", async () => {
    const [unnamed] = seedObjects("fragments/s0-06-blockdevice-asis.yaml");
    expect(await account.send("POST", TEMPLATES, unnamed)).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining("name") },
    });
    await account.world.applySeed("s0-06-blockdevice-snippet.yaml");
    expect((await account.read(`${TEMPLATES}/bdm-snippet`)).spec.blockDeviceMappings).toEqual([
      { deviceName: "/dev/xvda", ebs: { volumeSize: "20Gi", volumeType: "gp3" } },
    ]);
  });

  it("are refused with values that have no meaning (S0-05, S0-09, S0-13, S0-15)", async () => {
    const spec = seed("s0-02-nodetemplate-default.yaml").spec;
    const refusal = async (change: Readonly<Record<string, unknown>>): Promise<string> => {
      const template = seed("s0-02-nodetemplate-default.yaml", { metadata: { name: "odd" } });
      const sent = { ...template, spec: { ...spec, ...change } };
      const { status, body } = await account.send("POST", TEMPLATES, sent);
      expect(status).toBeGreaterThanOrEqual(400);
      return body.message;
    };
    expect(await refusal({ subnetSelector: undefined })).toContain("subnetSelector");
    expect(await refusal({ securityGroupSelector: undefined })).toContain("securityGroupSelector");
    const families = await refusal({ amiFamily: "Foo" });
    for (const family of ["AL2", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022", "Custom"])
      expect(families).toContain(family);
    expect(await refusal({ metadataOptions: { httpPutResponseHopLimit: 65 } })).toContain(
      "httpPutResponseHopLimit",
    );
    expect(await refusal({ detailedMonitoring: "true" })).toContain("spec.detailedMonitoring");
  });

  it("accept only strings as tags (S0-63)", async () => {
    const [integer] = seedObjects("negative/s0-09-tags-integer-asis.yaml");
    expect(await account.send("POST", TEMPLATES, integer)).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining("spec.tags.InternalAccountingTag") },
    });
    const [text] = seedObjects("s0-09-tags-snippet.yaml");
    expect((await account.send("POST", TEMPLATES, text)).status).toBe(201);
  });

  it("may be created after their provisioner, which launches nothing until then (S0-01)", async () => {
    await account.send("DELETE", `${TEMPLATES}/custom`);
    await account.world.applySeed("s0-05-basic-deploy.yaml");
    await account.world.advance(15_000);
    expect(account.fleets()).toEqual([]);
    expect(await account.items(MACHINES)).toEqual([]);
    expect(account.said("skipping, unable to resolve instance types")).not.toEqual([]);
    await account.world.applySeed("s0-03-custom_ami_node_template.yaml");
    await account.world.until(
      "a machine",
      async () => (await account.items(MACHINES)).length === 1,
    );
  });
});

function idsOf(found: readonly { readonly id: string }[]): readonly string[] {
  return found.map(({ id }) => id).sort();
}

/** Applies a provisioner for the template, and one pod that needs a node of it. */
async function launchWith(account: Account, file: string): Promise<string> {
  const { world } = account;
  const [template] = await world.applySeed(file);
  const name = template?.metadata.name ?? "";
  await world.apply(`
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: { name: ${name} }
spec:
  providerRef: { name: ${name} }
  labels: { from: ${name} }
`);
  const before = (await account.instances()).length;
  await account.deploy(name, 1, { spec: { nodeSelector: { from: name } } });
  await world.until("an instance", async () => (await account.instances()).length > before);
  return name;
}

/** Tags of the provisioner's instance and of its volumes. */
async function tagsOfLaunch(account: Account, provisioner: string) {
  const all = await account.instances();
  const tags = await Promise.all(all.map(({ InstanceId }) => account.tags(InstanceId)));
  const at = tags.findIndex((one) => one["karpenter.sh/provisioner-name"] === provisioner);
  const disks = await account.volumes(all[at]?.InstanceId ?? "");
  return [tags[at], ...(await Promise.all(disks.map(({ VolumeId }) => account.tags(VolumeId))))];
}

/** Kinds of resources that get the user's tag `team`. */
function taggedByUser(
  specifications: readonly { ResourceType: string; Tags: readonly { Key: string }[] }[] = [],
): readonly string[] {
  return specifications
    .filter(({ Tags }) => Tags.some(({ Key }) => Key === "team"))
    .map(({ ResourceType }) => ResourceType);
}

describe("an AWSNodeTemplate of seed S0, at a launch in EC2,", () => {
  it("sets groups, profile, options and user data from every optional field (S0-08, S0-10, S0-11, S0-13, S0-15, S0-17)", () =>
    inAccount(async (account) => {
      const { controls, state } = account.world.box.sandbox.aws;
      const tags = [{ Key: "karpenter.sh/discovery", Value: "karpenter-demo" }];
      const ImageId = controls.addImage({ name: "mine", architecture: "x86_64", tags });
      await launchWith(account, "s0-01-nodetemplate-field-skeleton.yaml");
      const [instance] = await account.instances();
      expect(instance?.ImageId).toBe(ImageId);
      const groups = [...state.securityGroups.keys()].sort();
      expect(instance?.SecurityGroups.map(({ GroupId }) => GroupId).sort()).toEqual(groups);
      const [template] = account.templates();
      const data = template?.LaunchTemplateData;
      const wired = data?.NetworkInterfaces?.[0]?.Groups ?? data?.SecurityGroupIds ?? [];
      expect([...wired].sort()).toEqual(groups);
      expect(data).toMatchObject({
        IamInstanceProfile: { Name: "KarpenterNodeInstanceProfile-karpenter-demo" },
        Monitoring: { Enabled: true },
        MetadataOptions: {
          HttpEndpoint: "enabled",
          HttpProtocolIpv6: "disabled",
          HttpPutResponseHopLimit: 2,
          HttpTokens: "required",
        },
      });
      const [script, bootstrap] = userDataOf(template).split("/etc/eks/bootstrap.sh");
      expect(script).toContain("#!/bin/bash\necho hello");
      expect(bootstrap).toContain("karpenter-demo");
    }));

  it("uses the family's image and the family's form of user data (S0-09)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const ssm = "/aws/service";
      const expected = [
        [
          "AL2",
          `${ssm}/eks/optimized-ami/1.34/amazon-linux-2/recommended/image_id`,
          /bootstrap\.sh/,
        ],
        [
          "Bottlerocket",
          `${ssm}/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id`,
          /^\[settings\b/m,
        ],
        ["Ubuntu", `${ssm}/canonical/ubuntu/eks/20.04/1.34/stable/current/amd64/`, /bootstrap\.sh/],
        ["Windows2022", `${ssm}/ami-windows-latest/Windows_Server-2022-`, /^<powershell>/],
      ] as const;
      const asked = () =>
        world.box.sandbox.aws.journal
          .inputs<{ Name: string }>("GetParameter")
          .map(({ Name }) => Name);
      for (const [amiFamily, path, form] of expected) {
        const name = amiFamily.toLowerCase();
        const os = amiFamily.startsWith("Windows") ? "windows" : "linux";
        const base = seed("s0-02-nodetemplate-default.yaml", { metadata: { name } });
        await account.send("POST", TEMPLATES, { ...base, spec: { ...base.spec, amiFamily } });
        await account.send("POST", PROVISIONERS, {
          apiVersion: "karpenter.sh/v1alpha5",
          kind: "Provisioner",
          metadata: { name },
          spec: {
            providerRef: { name },
            labels: { family: name },
            requirements: [
              { key: "kubernetes.io/os", operator: "In", values: [os] },
              { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
            ],
          },
        });
        const before = account.fleets().length;
        const nodeSelector = { family: name, "kubernetes.io/os": os };
        await account.deploy(name, 1, { spec: { nodeSelector } });
        await world.until(`a fleet of ${amiFamily}`, () => account.fleets().length > before);
        expect(
          asked().some((one) => one.startsWith(path)),
          `${path} of ${asked()}`,
        ).toBe(true);
        expect(userDataOf(account.templates().at(-1))).toMatch(form);
      }
    }));

  it("uses the instance profile of the settings if it names none, and fails without either (S0-08)", async () => {
    await inAccount(async (account) => {
      await launchWith(account, "s0-02-nodetemplate-default.yaml");
      expect(account.templates()[0]?.LaunchTemplateData.IamInstanceProfile?.Name).toBe(
        "KarpenterNodeInstanceProfile-karpenter-demo",
      );
    });
    const flags = { "default-instance-profile": "" };
    await inAccount(
      async (account) => {
        const { world } = account;
        await world.applySeed("s0-03-custom_ami_node_template.yaml");
        await world.applySeed("s0-04-custom_karpenter_provisioner.yaml");
        await world.applySeed("s0-05-basic-deploy.yaml");
        await world.advance(5_000);
        expect(account.fleets()).toEqual([]);
        expect(account.said("\tERROR\t")[0]).toContain(
          '"error": "launching machine: neither spec.provider.instanceProfile nor --default-instance-profile is specified"',
        );
      },
      { flags },
    );
  });

  it("sets the user's tags on everything that the launch creates (S0-12)", () =>
    inAccount(async (account) => {
      const { controls } = account.world.box.sandbox.aws;
      const tags = [{ Key: "karpenter.sh/discovery", Value: "karpenter-demo" }];
      controls.addImage({ name: "mine", architecture: "x86_64", tags });
      await launchWith(account, "s0-01-nodetemplate-field-skeleton.yaml");
      const [onInstance, ...onVolumes] = await tagsOfLaunch(account, "default");
      expect(onVolumes).toHaveLength(1);
      for (const tags of [onInstance, ...onVolumes])
        expect(tags).toMatchObject({ team: "my-team" });
      expect(taggedByUser(account.fleets()[0]?.TagSpecifications)).toEqual(
        expect.arrayContaining(["fleet", "instance", "volume"]),
      );
      const [template] = account.templates();
      expect(taggedByUser(template?.LaunchTemplateData.TagSpecifications)).toContain(
        "network-interface",
      );
      expect(taggedByUser(template?.TagSpecifications)).toEqual(["launch-template"]);
    }));

  it("sets Karpenter's own tags beside the user's, who may set only Name (S0-60, S0-61, S0-62, S0-63, S0-64)", () =>
    inAccount(async (account) => {
      const own = (name: string) => ({
        "karpenter.sh/provisioner-name": name,
        "kubernetes.io/cluster/karpenter-demo": "owned",
      });
      const first = await launchWith(account, "s0-09-tags-snippet.yaml");
      const expected = {
        ...own(first),
        Name: "karpenter.sh/provisioner-name/tags-snippet",
        InternalAccountingTag: "1234",
        "dev.corp.net/app": "Calculator",
        "dev.corp.net/team": "MyTeam",
      };
      expect(await tagsOfLaunch(account, first)).toMatchObject([expected, expected]);
      const second = await launchWith(account, "s0-10-tags-name-override.yaml");
      const named = { ...own(second), Name: "my-own-name" };
      expect(await tagsOfLaunch(account, second)).toMatchObject([named, named]);
    }));

  it("sets a tag with the seed's curly quote as it was written (S0-51)", async () => {
    for (const [file, intent] of [
      ["negative/s0-07-basic-deploy-blockdevice-curly-quote-asis.yaml", '“apps"'],
      ["s0-07-basic-deploy-blockdevice.yaml", "apps"],
    ] as const) {
      await inAccount(async (account) => {
        await account.world.applySeed(file);
        await account.world.applySeed("s0-08-basic-app-deploy.yaml");
        await account.running("inflate", 1);
        expect((await tagsOfLaunch(account, "default"))[0]).toMatchObject({ intent });
      });
    }
  });

  it("launches nothing while a selector holds an unsubstituted variable, which is logged (S0-43, S0-44)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const unsubstituted = `$${"{CLUSTER_NAME}"}`;
      const objects = seedObjects("s0-07-basic-deploy-blockdevice.yaml", unsubstituted);
      expect(objects.map(({ kind }) => kind)).toEqual(["Provisioner", "AWSNodeTemplate"]);
      // Sent as raw requests: the world's `apply` would fill in the cluster's name.
      expect((await account.send("POST", PROVISIONERS, objects[0])).status).toBe(201);
      expect((await account.send("POST", TEMPLATES, objects[1])).status).toBe(201);
      await world.advance(2_000);
      expect((await account.read(`${TEMPLATES}/default`)).status?.subnets).toBeUndefined();
      expect(account.said("no subnets exist given constraints")).not.toEqual([]);
      await world.applySeed("s0-07-basic-deploy-blockdevice.yaml");
      await world.advance(2_000);
      expect((await account.read(`${TEMPLATES}/default`)).status.subnets).toHaveLength(3);
    }));
});
