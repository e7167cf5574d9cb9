/**
 * Seed S0's second story: a node with a data volume, the script that mounts the volume, and an application on the
 * node.
 */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Instance } from "../../src/providers/aws/api/instances.ts";
import { seedObjects } from "../../src/testing/seed-manifests.ts";
import { lacks } from "../programs.ts";
import {
  type Account,
  DEPLOYMENTS,
  inAccount,
  type Json,
  MACHINES,
  NODES,
  openAccount,
  overrides,
  PROVISIONERS,
  seed,
  TEMPLATES,
  userDataOf,
  WHOLE_REGION,
} from "./account.ts";

/** The programs that the seed's script uses. */
const noShell = lacks("test/seeds/s0-devices", "bash", "awk", "grep");
const MINE = `${NODES}?labelSelector=eks-immersion-team%3Dmy-team`;

describe("the data volume of seed S0", () => {
  let account: Account;
  let instance: Instance;
  let node: Json;

  beforeAll(async () => {
    account = await openAccount(WHOLE_REGION);
  });
  afterAll(() => account.world.close());

  it("is created with provisioner and template from one file, which changes nothing when applied again (S0-43, S0-52)", async () => {
    const { world } = account;
    const first = await world.applySeed("s0-07-basic-deploy-blockdevice.yaml");
    expect(first.map(({ kind }) => kind)).toEqual(["Provisioner", "AWSNodeTemplate"]);
    await world.advance(1_000);
    const versions = async () =>
      Promise.all(
        [`${PROVISIONERS}/default`, `${TEMPLATES}/default`].map(
          async (path) => (await account.read(path)).metadata.resourceVersion,
        ),
      );
    const before = await versions();
    await world.applySeed("s0-07-basic-deploy-blockdevice.yaml");
    expect(await versions()).toEqual(before);
  });

  it("has a provisioner to which defaulting adds only the operating system (S0-46)", async () => {
    const { spec } = await account.read(`${PROVISIONERS}/default`);
    expect(spec.requirements.slice(3)).toEqual([
      { key: "kubernetes.io/os", operator: "In", values: ["linux"] },
    ]);
    const variant = seed("s0-07-basic-deploy-blockdevice.yaml", {}, "variant");
    const requirements = variant.spec.requirements.slice(0, 2);
    await account.send("POST", PROVISIONERS, {
      ...variant,
      spec: { ...variant.spec, requirements },
    });
    expect((await account.read(`${PROVISIONERS}/variant`)).spec.requirements).toContainEqual({
      key: "karpenter.sh/capacity-type",
      operator: "In",
      values: ["on-demand"],
    });
    await account.send("DELETE", `${PROVISIONERS}/variant`);
  });

  it("needs one node, because the application selects the provisioner's label (S0-53, S0-54, S0-55, S0-56)", async () => {
    const { world } = account;
    await world.applySeed("s0-08-basic-app-deploy.yaml");
    const [pod] = await account.running("inflate", 1, 60_000);
    expect(pod.spec.volumes).toContainEqual(
      expect.objectContaining({ hostPath: expect.objectContaining({ path: "/data1" }) }),
    );
    const machines = await account.items(MACHINES);
    expect(machines).toHaveLength(1);
    expect(machines[0]?.metadata.labels["eks-immersion-team"]).toBe("my-team");
    const keys = machines[0]?.spec.requirements.map(({ key }: Json) => key);
    expect(keys).not.toContain("topology.kubernetes.io/zone");
    const nodes = await account.items(MINE);
    expect(nodes).toHaveLength(1);
    [node] = nodes;
    expect(pod.spec.nodeName).toBe(node.metadata.name);
  });

  it("belongs to an on-demand instance of families c, m or r with at most ten vCPUs (S0-45, S0-47)", async () => {
    const { state } = account.world.box.sandbox.aws;
    const asked = overrides(account.fleets()[0]).map(({ InstanceType = "" }) => InstanceType);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((type) => !/^[cmr]\d/.test(type))).toEqual([]);
    expect(asked.filter((type) => (state.catalogue.facts.get(type)?.vcpus ?? 0) > 10)).toEqual([]);
    const types = [...state.catalogue.facts.values()];
    const above = types.filter(({ vcpus }) => vcpus > 10).length;
    expect(
      account.said(`${above} out of ${types.length} instance types were excluded`),
    ).not.toEqual([]);
  });

  it("is mapped as written: 20Gi for root, 100Gi for data (S0-14, S0-38, S0-39, S0-48, S0-49)", async () => {
    [instance] = (await account.instances()) as [Instance];
    const [template] = account.templates();
    expect(template?.LaunchTemplateData.BlockDeviceMappings).toEqual([
      {
        DeviceName: "/dev/xvda",
        Ebs: expect.objectContaining({
          VolumeSize: 20,
          VolumeType: "gp3",
          DeleteOnTermination: true,
        }),
      },
      {
        DeviceName: "/dev/xvdb",
        Ebs: expect.objectContaining({
          VolumeSize: 100,
          VolumeType: "gp3",
          DeleteOnTermination: true,
        }),
      },
    ]);
    const disks = await account.volumes(instance.InstanceId);
    expect(disks.map(({ Size }) => Size)).toEqual([20, 100]);
  });

  it("is found in EC2 by the node's name (S0-57)", async () => {
    const answer = (await account.world.box.sandbox.aws.call("ec2", "DescribeInstances", {
      Filters: [{ Name: "private-dns-name", Values: [node.metadata.name] }],
    })) as { readonly Reservations: readonly { readonly Instances: readonly Instance[] }[] };
    const found = answer.Reservations.flatMap(({ Instances }) => Instances);
    expect(found.map(({ InstanceId }) => InstanceId)).toEqual([instance.InstanceId]);
    expect(found[0]?.BlockDeviceMappings).toHaveLength(2);
  });

  it("is mounted by a script that precedes the bootstrap in user data unchanged (S0-50, S0-58)", () => {
    const text = userDataOf(account.templates()[0]);
    const [, template] = seedObjects("s0-07-basic-deploy-blockdevice.yaml");
    const script: string = template.spec.userData;
    expect(script.startsWith("#!/bin/bash -xe\n")).toBe(true);
    expect(text).toContain(`Content-Type: text/x-shellscript; charset="us-ascii"\n\n${script}`);
    expect(text.indexOf(script)).toBeLessThan(text.indexOf("/etc/eks/bootstrap.sh"));
  });

  it.skipIf(noShell)("is mounted at /data1 after a file system was made on it (S0-58)", () => {
    const [, template] = seedObjects("s0-07-basic-deploy-blockdevice.yaml");
    expect(mounts(template.spec.userData)).toEqual([
      "mkfs.xfs /dev/datadisk",
      "mkdir -p /data1",
      "mount /dev/datadisk /data1",
    ]);
  });

  it("is deleted with the instance once both files are deleted (S0-48, S0-59)", async () => {
    const { world } = account;
    await account.send("DELETE", `${DEPLOYMENTS}/inflate`);
    await account.send("DELETE", `${PROVISIONERS}/default`);
    await account.send("DELETE", `${TEMPLATES}/default`);
    await world.advance(60_000);
    expect(await account.items(MACHINES)).toEqual([]);
    expect(await account.items(MINE)).toEqual([]);
    expect(await account.instances()).toEqual([]);
    expect(await account.volumes(instance.InstanceId)).toEqual([]);
  });
});

/** The commands that the script would run as root on a machine with a root device and a data device. */
function mounts(script: string): readonly string[] {
  const stage = `
exec() { :; }
lsblk() { printf 'rootdisk\\ndatadisk\\n'; }
mount() { echo 'rootdisk on / type xfs (rw)'; }
sudo() { echo "SUDO $*"; }
`;
  const run = spawnSync("bash", ["-c", stage + script], { encoding: "utf8" });
  return run.stdout
    .split("\n")
    .filter((line) => line.startsWith("SUDO "))
    .map((line) => line.slice(5));
}

describe("block devices of an AWSNodeTemplate", () => {
  it("have size, speed, encryption and key as written, and the root's size is the node's storage (S0-40, S0-41)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const kmsKeyID = "arn:aws:kms:us-west-2:123456789012:key/1234abcd";
      const ebs = { volumeSize: "20Gi", volumeType: "gp3", iops: 4000, throughput: 250 };
      const encrypted = { ...ebs, encrypted: true, kmsKeyID };
      const template = seed("s0-06-blockdevice-snippet.yaml", {
        spec: { blockDeviceMappings: [{ deviceName: "/dev/xvda", ebs: encrypted }] },
      });
      await account.send("POST", TEMPLATES, template);
      await account.send("POST", PROVISIONERS, {
        apiVersion: "karpenter.sh/v1alpha5",
        kind: "Provisioner",
        metadata: { name: "disks" },
        spec: { providerRef: { name: "bdm-snippet" }, labels: { disks: "fast" } },
      });
      await account.deploy("app", 1, { spec: { nodeSelector: { disks: "fast" } } });
      await world.until("a launched machine", async () => {
        const [machine] = await account.items(MACHINES);
        return machine?.status?.capacity !== undefined;
      });
      expect(account.templates()[0]?.LaunchTemplateData.BlockDeviceMappings).toEqual([
        {
          DeviceName: "/dev/xvda",
          Ebs: expect.objectContaining({
            VolumeSize: 20,
            VolumeType: "gp3",
            Iops: 4000,
            Throughput: 250,
            Encrypted: true,
            KmsKeyId: kmsKeyID,
          }),
        },
      ]);
      const [machine] = await account.items(MACHINES);
      expect(machine.status.capacity["ephemeral-storage"]).toBe("20Gi");
    }));
});
