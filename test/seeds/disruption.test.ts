/** Seeds about running nodes: drift, expiry and consolidation, seen from outside. */
import { describe, expect, it } from "vitest";
import {
  type Account,
  CLAIMS,
  conditionOf,
  DEPLOYMENTS,
  inAccount,
  type Json,
  MACHINES,
  NODES,
  PODS,
  POOLS,
  PROVISIONERS,
  seed,
} from "./account.ts";

const HOUR_MS = 3_600_000;
/** Too large for the sandbox's first nodes, so each pod needs a node of its own. */
const alone = { cpu: "2" };

/** Host anti-affinity, so that each pod of the Deployment gets its own node. */
const apart = (app: string): Json => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: { app } }, topologyKey: "kubernetes.io/hostname" },
    ],
  },
});

const names = (objects: readonly Json[]): string[] =>
  objects.map(({ metadata }) => metadata.name).sort();
const leaving = (objects: readonly Json[]): readonly Json[] =>
  objects.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);

async function applyBeta({ world }: Account, pool: Json = {}): Promise<void> {
  await world.applySeed("s2-03-ec2nodeclass.yaml");
  await world.apply(seed("s2-01-nodepool.yaml", pool));
}

async function applyAlpha({ world }: Account, provisioner: Json = {}): Promise<void> {
  const profile = { spec: { instanceProfile: "KarpenterNodeInstanceProfile-karpenter-demo" } };
  await world.apply(seed("s0-02-nodetemplate-default.yaml", profile, "default"));
  const refs = { spec: { providerRef: { name: "default" }, ...provisioner } };
  await world.apply(seed("s0-04-custom_karpenter_provisioner.yaml", refs, "default"));
}

describe("drift", () => {
  const relabel = { spec: { template: { metadata: { labels: { team: "team-b" } } } } };

  it("replaces a v1beta1 node when its pool's template changes, with the new one ready first (S2-31)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyBeta(account);
      await account.deploy("app", 1, alone);
      await account.running("app", 1);
      const [before] = await account.items(CLAIMS);
      expect(conditionOf(before, "Drifted")).toBeUndefined();
      await account.patch(`${POOLS}/default`, relabel);
      let together = 0;
      await world.until("the node was replaced", async () => {
        const claims = await account.items(CLAIMS);
        together = Math.max(together, claims.length);
        for (const claim of leaving(claims)) {
          const others = claims.filter((one) => one !== claim);
          expect(others.map((one) => conditionOf(one, "Initialized")?.status)).toEqual(["True"]);
          expect(conditionOf(claim, "Drifted")).toMatchObject({
            status: "True",
            reason: "NodePoolDrifted",
          });
        }
        return together === 2 && claims.length === 1;
      });
      const [after] = await account.items(CLAIMS);
      expect(after.metadata.name).not.toBe(before.metadata.name);
      expect(after.metadata.labels.team).toBe("team-b");
      await account.running("app", 1);
      expect(account.said("disrupting via drift replace, terminating 1 candidates")).toHaveLength(
        1,
      );
      await world.advance(15 * 60_000);
      expect(names(await account.items(CLAIMS))).toEqual(names([after]));
    }));

  it("replaces no v1beta1 node when the gate is off (S2-31)", () =>
    inAccount(
      async (account) => {
        await applyBeta(account);
        await account.deploy("app", 1, alone);
        await account.running("app", 1);
        await account.patch(`${POOLS}/default`, relabel);
        await account.world.advance(15 * 60_000);
        const claims = await account.items(CLAIMS);
        expect(claims.map((claim) => conditionOf(claim, "Drifted"))).toEqual([undefined]);
      },
      { flags: { "feature-gates": "Drift=false" } },
    ));

  it("follows a newer image of the family, and other groups and subnets that the selectors match (S3-07, S3-15, S3-16)", () =>
    inAccount(async (account) => {
      const { world } = account;
      const { aws } = world.box.sandbox;
      await applyBeta(account);
      await account.deploy("app", 1, alone);
      await account.running("app", 1);

      const drifted = async (reason: string): Promise<void> => {
        const [before] = await account.items(CLAIMS);
        let seen = "";
        for (let old: Json = before; old !== undefined; ) {
          seen = conditionOf(old, "Drifted")?.reason ?? seen;
          await world.advance(10_000);
          const claims = await account.items(CLAIMS);
          old = claims.find(({ metadata }) => metadata.name === before.metadata.name);
        }
        expect(seen).toBe(reason);
        await account.running("app", 1);
      };

      const image = aws.controls.addImage({ name: "bottlerocket-newer", family: "Bottlerocket" });
      const stem = "/aws/service/bottlerocket/aws-k8s-1.34";
      for (const arch of ["x86_64", "arm64"])
        aws.controls.setParameter(`${stem}/${arch}/latest/image_id`, image);
      await drifted("AMIDrift");
      expect((await account.instances()).map(({ ImageId }) => ImageId)).toEqual([image]);

      const group = aws.controls.addSecurityGroup({
        name: "another",
        tags: [{ Key: "karpenter.sh/discovery", Value: "karpenter-demo" }],
      });
      await drifted("SecurityGroupDrift");
      const [instance] = await account.instances();
      expect(instance?.SecurityGroups.map(({ GroupId }) => GroupId)).toContain(group);

      aws.controls.untag(instance?.SubnetId as string, ["karpenter.sh/discovery"]);
      await drifted("SubnetDrift");
      expect((await account.instances())[0]?.SubnetId).not.toBe(instance?.SubnetId);
    }));

  it("moves the pods of a Provisioner's nodes to a NodePool one node at a time (S2-42, S2-43, S2-44, S2-45)", () =>
    inAccount(
      async (account) => {
        const { world } = account;
        await applyAlpha(account);
        await account.deploy("old", 3, { ...alone, spec: { affinity: apart("old") } });
        await account.running("old", 3);
        const machines = await account.items(MACHINES);
        expect(machines).toHaveLength(3);
        await applyBeta(account);
        await account.patch(`${PROVISIONERS}/default`, seed("s2-06-legacy-taint-patch.yaml"));
        await world.advance(1_000);
        for (const machine of await account.items(MACHINES)) {
          expect(conditionOf(machine, "MachineDrifted")).toMatchObject({
            status: "True",
            reason: "ProvisionerDrifted",
          });
        }
        const left = new Set<string>();
        await world.until(
          "the machines are gone",
          async () => {
            const machines = await account.items(MACHINES);
            const going = names(leaving(machines));
            expect(going.length).toBeLessThan(2);
            for (const name of going) {
              left.add(name);
              // One ready replacement exists for each machine that left or is leaving.
              const claims = await account.items(CLAIMS);
              expect(claims).toHaveLength(left.size);
              for (const one of claims) expect(conditionOf(one, "Ready")?.status).toBe("True");
            }
            return machines.length === 0;
          },
          20 * 60_000,
        );
        expect([...left].sort()).toEqual(names(machines));
        await account.running("old", 3);
        const said = account.said("deprovisioning via drift replace, terminating 1 machines");
        expect(said).toHaveLength(3);
      },
      { flags: { "alpha-drift": "true" } },
    ));
});

describe("expiry", () => {
  it("replaces a v1beta1 node that is older than its pool permits (S2-14, S3-43)", () =>
    inAccount(async (account) => {
      const { world } = account;
      // The seeds have 360h and 720h. A shorter time needs less virtual time.
      await applyBeta(account, { spec: { disruption: { expireAfter: "15m" } } });
      await account.deploy("app", 1, alone);
      await account.running("app", 1);
      const [before] = await account.items(CLAIMS);
      await world.advance(HOUR_MS / 4 - 120_000);
      expect(names(await account.items(CLAIMS))).toEqual([before.metadata.name]);
      await world.until(
        "the old node is gone",
        async () => {
          const claims = await account.items(CLAIMS);
          for (const claim of leaving(claims)) {
            expect(conditionOf(claim, "Expired")?.status).toBe("True");
            const others = claims.filter((one) => one !== claim);
            expect(others.map((one) => conditionOf(one, "Initialized")?.status)).toEqual(["True"]);
          }
          return !names(claims).includes(before.metadata.name);
        },
        600_000,
      );
      await account.running("app", 1);
      expect(account.said("disrupting via expiration replace")).toHaveLength(1);
    }));

  it("replaces v1alpha5 machines that are too old, and none without a TTL (S1-34, S4-05)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyAlpha(account, { ttlSecondsAfterEmpty: null, ttlSecondsUntilExpired: 900 });
      await account.deploy("app", 1, alone);
      await account.running("app", 1);
      const [before] = await account.items(MACHINES);
      await world.advance(HOUR_MS / 4 - 120_000);
      expect(names(await account.items(MACHINES))).toEqual([before.metadata.name]);
      await world.advance(300_000);
      const [after, ...others] = await account.items(MACHINES);
      expect(others).toEqual([]);
      expect(after.metadata.name).not.toBe(before.metadata.name);
      expect(
        account.said("deprovisioning via expiration replace, terminating 1 machines"),
      ).toHaveLength(1);
      await account.patch(`${PROVISIONERS}/default`, { spec: { ttlSecondsUntilExpired: null } });
      // The machine is then older than the former TTL.
      await world.advance(20 * 60_000);
      expect(names(await account.items(MACHINES))).toEqual([after.metadata.name]);
    }));

  it("keeps a v1beta1 node once its pool says Never (S4-05)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyBeta(account, { spec: { disruption: { expireAfter: "30m" } } });
      await account.deploy("app", 1, alone);
      await account.running("app", 1);
      const before = names(await account.items(CLAIMS));
      await world.advance(20 * 60_000);
      await account.patch(`${POOLS}/default`, { spec: { disruption: { expireAfter: "Never" } } });
      // The node is then older than the former expireAfter, and than the one that follows.
      await world.advance(45 * 60_000);
      const after = await account.items(CLAIMS);
      expect(names(after)).toEqual(before);
      expect(conditionOf(after[0], "Expired")).toBeUndefined();
      expect(conditionOf(after[0], "Drifted")).toBeUndefined();
      // A node's age counts from its creation: when expireAfter is set again, the node expires at once.
      await account.patch(`${POOLS}/default`, { spec: { disruption: { expireAfter: "1h" } } });
      await world.until(
        "the old node is gone",
        async () => !names(await account.items(CLAIMS)).includes(before[0] as string),
        600_000,
      );
      expect(account.said("disrupting via expiration replace")).toHaveLength(1);
      expect(account.said("disrupting via drift")).toEqual([]);
    }));

  it("removes v0.5 nodes at their TTL (S1-34)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await world.apply(
        seed("s1-06-provisioner-expiry.yaml", { spec: { ttlSecondsUntilExpired: 60 } }),
      );
      await account.deploy("app", 1, alone);
      await world.until(
        "there is a machine",
        async () => (await account.items(MACHINES)).length > 0,
      );
      await world.advance(61_000);
      const lines = account.said("Triggering termination for expired node after 1m0s (+");
      expect(lines.length).toBeGreaterThan(0);
    }));
});

describe("consolidation", () => {
  it("replaces two half empty nodes by one (S3-41)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyBeta(account);
      // The pods may run only on nodes of the pool, because the sandbox's first nodes would have room for all of them.
      const spec = { nodeSelector: { team: "team-a" } };
      for (const name of ["one", "two"]) {
        await account.deploy(name, 1, { cpu: "2", spec });
        await account.running(name, 1);
        await account.deploy(`small-${name}`, 1, { cpu: "1500m", spec });
        await account.running(`small-${name}`, 1);
      }
      for (const name of ["one", "two"]) await world.scale(name, 0);
      const before = await account.items(CLAIMS);
      expect(before).toHaveLength(2);
      await world.advance(20 * 60_000);
      const after = await account.items(CLAIMS);
      expect(after).toHaveLength(1);
      expect(names(before)).toContain(after[0]?.metadata.name);
      const deleted = "disrupting via consolidation delete, terminating 1 candidates";
      expect(account.said(deleted)).toHaveLength(1);
      for (const name of ["one", "two"]) await account.running(`small-${name}`, 1);
      const settled = names(after);
      await world.advance(HOUR_MS);
      expect(names(await account.items(CLAIMS))).toEqual(settled);
    }));

  it("removes a superfluous v1alpha5 machine if consolidation is on, but no annotated node", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyAlpha(account, { ttlSecondsAfterEmpty: null, consolidation: { enabled: true } });
      // Each pod gets a node of its own, until the anti-affinity is removed.
      const nodeSelector = { "karpenter.sh/provisioner-name": "default" };
      await account.deploy("app", 2, {
        cpu: "300m",
        spec: { affinity: apart("app"), nodeSelector },
      });
      await account.running("app", 2);
      const machines = await account.items(MACHINES);
      expect(machines).toHaveLength(2);
      const annotated = {
        metadata: { annotations: { "karpenter.sh/do-not-consolidate": "true" } },
      };
      for (const { status } of machines)
        await account.patch(`${NODES}/${status.nodeName}`, annotated);
      const together = { spec: { template: { spec: { affinity: null } } } };
      await account.patch(`${DEPLOYMENTS}/app`, together);
      await world.advance(5 * 60_000);
      expect(await account.items(MACHINES)).toHaveLength(2);
      const free = { metadata: { annotations: { "karpenter.sh/do-not-consolidate": null } } };
      for (const { status } of machines) await account.patch(`${NODES}/${status.nodeName}`, free);
      await world.advance(10 * 60_000);
      expect((await account.items(MACHINES)).length).toBe(1);
      expect(account.said("deprovisioning via consolidation ").length).toBeGreaterThan(0);
      await account.running("app", 2);
    }));

  it("waits for a do-not-disrupt pod until it has ended (S3-86)", () =>
    inAccount(async (account) => {
      const { world } = account;
      await applyBeta(account);
      await account.deploy("app", 1, {
        cpu: "100m",
        annotations: { "karpenter.sh/do-not-disrupt": "true" },
        spec: { nodeSelector: { team: "team-a" } },
      });
      await account.running("app", 1);
      const [node] = await account.items(`${NODES}?labelSelector=karpenter.sh/nodepool`);
      await world.advance(30 * 60_000);
      expect(names(await account.items(`${NODES}?labelSelector=karpenter.sh/nodepool`))).toEqual([
        node.metadata.name,
      ]);
      expect((await account.events("Node")).join("\n")).toContain("DisruptionBlocked: Pod has");
      const [pod] = await account.items(`${PODS}?labelSelector=app=app`);
      await world.remove("Deployment", "app", "apps/v1");
      await world.until(
        "the node is gone",
        async () =>
          (await account.items(`${NODES}?labelSelector=karpenter.sh/nodepool`)).length === 0,
      );
      expect(pod.metadata.annotations["karpenter.sh/do-not-disrupt"]).toBe("true");
    }));
});
