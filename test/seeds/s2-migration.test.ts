/** Seed S2, from v1alpha5 to v1beta1: both generations side by side, then the old Provisioner is removed. */
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/apis/meta.ts";
import { runConvert } from "../../src/cli/convert/run-convert.ts";
import { seedObjects } from "../../src/testing/seed-manifests.ts";
import {
  type Account,
  CLAIMS,
  CLASSES,
  conditionOf,
  inAccount,
  type Json,
  MACHINES,
  NODES,
  POOLS,
  PROVISIONERS,
  seed,
  TEMPLATES,
} from "./account.ts";

const names = (objects: readonly Json[]): string[] =>
  objects.map(({ metadata }) => metadata.name).sort();

describe("S2: karpenter-convert", () => {
  it("prints manifests that are accepted unchanged, once the role is filled in (S2-37, S2-38, S2-39)", () =>
    inAccount(async ({ world, ...account }) => {
      const derived = new URL("../fixtures/seeds/derived/", import.meta.url);
      const files = ["s2-convert-in-provisioner.yaml", "s2-convert-in-nodetemplate.yaml"];
      let text = "";
      await runConvert(
        {
          filename: files.map((file) => fileURLToPath(new URL(file, derived))),
          recursive: false,
          ignoreDefaults: false,
          output: "yaml",
          to: "v1beta1",
        },
        {
          out: (more) => {
            text += more;
          },
          say: () => undefined,
          stdin: () => "",
        },
      );
      await world.apply(text.replace("$KARPENTER_NODE_ROLE", "KarpenterNodeRole-karpenter-demo"));
      const pool = await account.read(`${POOLS}/custom`);
      expect(pool.spec.disruption).toMatchObject({
        consolidationPolicy: "WhenEmpty",
        consolidateAfter: "30s",
        expireAfter: "Never",
      });
      const nodeClass = await account.read(`${CLASSES}/custom`);
      expect(nodeClass.spec.role).toBe("KarpenterNodeRole-karpenter-demo");
      expect(nodeClass.spec.amiFamily).toBe("Ubuntu");
    }));
});

describe("S2: three generations of the API", () => {
  it("are served side by side, each found by all its names (S2-01, S2-03, S2-05, S2-07, S2-33)", () =>
    inAccount(async ({ world, ...account }) => {
      const groups = await account.read("/apis");
      const versions = (group: string): readonly string[] =>
        groups.groups
          .find(({ name }: Json) => name === group)
          .versions.map(({ version }: Json) => version);
      // v1alpha1 is the version of NodeOverlay.
      const own = ["v1", "v1alpha1", "v1alpha5", "v1beta1"];
      expect([...versions("karpenter.sh")].sort()).toEqual(own);
      expect([...versions("karpenter.k8s.aws")].sort()).toEqual(["v1", "v1alpha1", "v1beta1"]);

      const kinds = async (path: string): Promise<Record<string, Json>> => {
        const { resources } = await account.read(path);
        return Object.fromEntries(resources.map((one: Json) => [one.name, one]));
      };
      const alpha = await kinds("/apis/karpenter.sh/v1alpha5");
      expect(alpha).toMatchObject({
        provisioners: { kind: "Provisioner" },
        machines: { kind: "Machine" },
      });
      const beta = await kinds("/apis/karpenter.sh/v1beta1");
      expect(beta).toMatchObject({
        nodepools: { kind: "NodePool", namespaced: false, categories: ["karpenter"] },
        nodeclaims: { kind: "NodeClaim", namespaced: false, categories: ["karpenter"] },
      });
      const aws = await kinds("/apis/karpenter.k8s.aws/v1beta1");
      expect(aws["ec2nodeclasses"]).toMatchObject({
        kind: "EC2NodeClass",
        namespaced: false,
        shortNames: ["ec2nc", "ec2ncs"],
      });
      const crds = await account.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
      expect(names(crds)).toEqual(
        expect.arrayContaining([
          "ec2nodeclasses.karpenter.k8s.aws",
          "nodeclaims.karpenter.sh",
          "nodepools.karpenter.sh",
        ]),
      );

      // v1beta1 and v1 are two versions of one object. v1alpha5 has another kind.
      await world.applySeed("s2-01-nodepool.yaml");
      const [stable] = await account.items("/apis/karpenter.sh/v1/nodepools");
      const [same] = await account.items(POOLS);
      expect(stable.metadata.uid).toBe(same.metadata.uid);
      expect(stable.spec.template.spec.expireAfter).toBe("360h");
      expect(same.spec.disruption.expireAfter).toBe("360h");
      expect(await account.items(PROVISIONERS)).toEqual([]);
    }));
});

describe("S2: an API server without v1alpha5", () => {
  it("serves no kind of it, and NodePools launch nodes all the same (S2-02)", () =>
    inAccount(
      async (account) => {
        for (const path of [PROVISIONERS, MACHINES, TEMPLATES]) {
          expect((await account.send("GET", path)).status, path).toBe(404);
        }
        const groups = await account.read("/apis");
        const versions = groups.groups.flatMap((group: Json) =>
          group.versions.map(({ groupVersion }: Json) => groupVersion),
        );
        expect(versions).toContain("karpenter.sh/v1beta1");
        expect(versions).not.toContain("karpenter.sh/v1alpha5");
        expect(versions).not.toContain("karpenter.k8s.aws/v1alpha1");
        await applyBeta(account);
        await account.deploy("new", 1, alone);
        await account.running("new", 1);
        expect(await account.items(CLAIMS)).toHaveLength(1);
      },
      { generations: "beta-only" },
    ));
});

/** Applies the Provisioner and AWSNodeTemplate to migrate from, named `default` like their successors. */
async function applyAlpha({ world, ...account }: Account): Promise<void> {
  const profile = { spec: { instanceProfile: "KarpenterNodeInstanceProfile-karpenter-demo" } };
  const template = seed("s0-02-nodetemplate-default.yaml", profile, "default");
  const provisioner = seed(
    "s0-04-custom_karpenter_provisioner.yaml",
    { spec: { providerRef: { name: "default" } } },
    "default",
  );
  for (const object of [template, provisioner]) await world.apply(object);
  expect(names(await account.items(PROVISIONERS))).toEqual(["default"]);
}

async function applyBeta({ world }: Account): Promise<void> {
  await world.applySeed("s2-03-ec2nodeclass.yaml");
  await world.applySeed("s2-01-nodepool.yaml");
}

/** Too large for the sandbox's first nodes, and for two pods on one node of the Provisioner. */
const alone = { cpu: "2" };

describe("S2: the migration from a Provisioner to a NodePool", () => {
  it("runs both at once, each with its own tags (S2-04, S2-32, S2-41, S2-46)", () =>
    inAccount(async (account) => {
      await applyAlpha(account);
      await account.deploy("old", 1, alone);
      await account.running("old", 1);
      await applyBeta(account);
      expect(names(await account.items(PROVISIONERS))).toEqual(["default"]);
      expect(names(await account.items(TEMPLATES))).toEqual(["default"]);
      expect(names(await account.items(POOLS))).toEqual(["default"]);
      expect(names(await account.items(CLASSES))).toEqual(["default"]);
      await account.deploy("new", 1, { spec: { nodeSelector: { team: "team-a" } } });
      await account.running("new", 1);
      expect(await account.items(MACHINES)).toHaveLength(1);
      expect(await account.items(CLAIMS)).toHaveLength(1);
      const tags = await Promise.all(
        (await account.instances()).map(({ InstanceId }) => account.tags(InstanceId)),
      );
      const [old] = tags.filter((one) => one["karpenter.sh/provisioner-name"] === "default");
      const [young] = tags.filter((one) => one["karpenter.sh/nodepool"] === "default");
      expect(old).toBeDefined();
      expect(old).not.toHaveProperty("karpenter.sh/nodepool");
      expect(young).toBeDefined();
      expect(young).not.toHaveProperty("karpenter.sh/provisioner-name");
    }));

  it("ignores a tainted Provisioner for new pods, and replaces its nodes one by one (S2-42, S2-50, S2-51)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyAlpha(account);
      await account.deploy("old", 2, alone);
      await account.running("old", 2);
      await applyBeta(account);
      const before = await account.read(`${PROVISIONERS}/default`);
      const [patch] = seedObjects("s2-06-legacy-taint-patch.yaml");
      expect((await account.patch(`${PROVISIONERS}/default`, patch)).status).toBe(200);
      await world.advance(1_000);
      const after = await account.read(`${PROVISIONERS}/default`);
      expect(after.spec.taints).toEqual(patch.spec.taints);
      const hash = "karpenter.sh/provisioner-hash";
      expect(after.metadata.annotations[hash]).toMatch(/^\d+$/);
      expect(after.metadata.annotations[hash]).not.toBe(before.metadata.annotations[hash]);

      await account.deploy("new", 1, alone);
      await account.running("new", 1);
      expect(await account.items(MACHINES)).toHaveLength(2);
      expect(await account.items(CLAIMS)).toHaveLength(1);
      const drifted = (await account.items(MACHINES)).filter(
        (machine) => conditionOf(machine, "MachineDrifted")?.status === "True",
      );
      expect(drifted).toEqual([]);

      const [machine] = await account.items(MACHINES);
      const name = machine.status.nodeName;
      const deleted = await account.send("DELETE", `${NODES}/${name}`);
      expect(deleted.status).toBe(200);
      const going = await account.read(`${NODES}/${name}`);
      expect(going.metadata.finalizers).toContain("karpenter.sh/termination");
      expect(going.metadata.deletionTimestamp).toBeDefined();
      await world.until(
        "the node is gone",
        async () => (await account.send("GET", `${NODES}/${name}`)).status === 404,
      );
      const id = machine.status.providerID.split("/").at(-1);
      const state = world.box.sandbox.aws.state.instances.get(id)?.state;
      expect(["shutting-down", "terminated"]).toContain(state);
      expect(names(await account.items(MACHINES))).not.toContain(machine.metadata.name);
      const pods = await account.running("old", 2);
      const beta = names(await account.items(`${NODES}?labelSelector=karpenter.sh/nodepool`));
      expect(pods.filter(({ spec }) => beta.includes(spec.nodeName))).toHaveLength(1);
    }));

  it("deletes a Provisioner with all its nodes at once, in the foreground, while new nodes start (S2-47, S2-48, S2-49)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyAlpha(account);
      await account.deploy("old", 3, alone);
      await account.running("old", 3);
      await applyBeta(account);
      const nodes = names(
        await account.items(`${NODES}?labelSelector=karpenter.sh/provisioner-name`),
      );
      expect(nodes).toHaveLength(3);
      await world.apply({
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "old" },
        spec: { maxUnavailable: 1, selector: { matchLabels: { app: "old" } } },
      } as KubeObject);
      await world.advance(1_000);
      const deleted = await account.send("DELETE", `${PROVISIONERS}/default`, {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: "Foreground",
      });
      expect(deleted.status).toBe(200);
      const { metadata } = await account.read(`${PROVISIONERS}/default`);
      expect(metadata.finalizers).toContain("foregroundDeletion");
      expect(metadata.deletionTimestamp).toBeDefined();
      await world.advance(100);
      const machines = await account.items(MACHINES);
      expect(machines).toHaveLength(3);
      for (const machine of machines) expect(machine.metadata.deletionTimestamp).toBeDefined();
      for (const name of nodes) {
        expect((await account.read(`${NODES}/${name}`)).spec.unschedulable).toBe(true);
      }
      // The budget allows one eviction at a time: the new pod must first run on a node of the NodePool.
      await world.until(
        "the Provisioner is gone",
        async () => (await account.send("GET", `${PROVISIONERS}/default`)).status === 404,
      );
      expect(await account.items(MACHINES)).toEqual([]);
      const ended = world.box.sandbox.aws.journal
        .calls({ action: "TerminateInstances" })
        .flatMap(({ atMs, input }) =>
          (input as { InstanceIds: readonly string[] }).InstanceIds.map((id) => ({ id, atMs })),
        );
      const providerIds = machines.map(({ status }) => status.providerID).sort();
      expect(providerIds.map((id) => id.split("/").at(-1))).toEqual(
        ended.map(({ id }) => id).sort(),
      );
      const [successor] = await account.items(CLAIMS);
      const bornMs = Date.parse(successor.metadata.creationTimestamp);
      expect(ended.filter(({ atMs }) => atMs > bornMs + 1_000)).toHaveLength(2);
      await account.running("old", 3);
    }));
});
