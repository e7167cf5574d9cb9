/** Seed S4, the spot chapter: the manifests as written, what is launched for them, and how it ends. */
import { describe, expect, it } from "vitest";
import {
  AWS_BETA,
  BETA,
  CLAIMS,
  CLASSES,
  DEPLOYMENTS,
  inAccount,
  NODES,
  overrides,
  POOLS,
  WHOLE_REGION,
} from "./account.ts";

const TEAM = `${NODES}?labelSelector=eks-immersion-team`;

describe("S4: the unchanged spot.yaml and spot-deploy.yaml", () => {
  it("launch spot instances of families c, m, r for amd64, labelled for the team, with their tags in EC2 only (S4-04, S4-06, S4-07, S4-08, S4-09, S4-10, S4-12, S4-16, S4-17)", () =>
    inAccount(async ({ world, ...account }) => {
      await world.applySeed("s4-01-spot.yaml");
      await world.applySeed("s4-02-spot-deploy.yaml");
      await account.running("inflate", 2);

      const pool = await account.read(`${POOLS}/default`);
      expect([1000, "1k", "1000"]).toContain(pool.spec.limits.cpu);
      expect(pool.spec.limits.memory).toBe("1000Gi");
      expect(pool.spec.disruption.expireAfter).toBe("Never");
      const nodeClass = await account.read(`${CLASSES}/default`);
      expect(nodeClass.spec.role).toBe("KarpenterNodeRole-karpenter-demo");
      expect(nodeClass.status.subnets).toHaveLength(3);
      expect(nodeClass.status.securityGroups).toHaveLength(2);

      const [fleet] = account.fleets();
      expect(fleet?.TargetCapacitySpecification.DefaultTargetCapacityType).toBe("spot");
      expect(fleet?.SpotOptions?.AllocationStrategy).toBe("price-capacity-optimized");
      const types = [...new Set(overrides(fleet).map((one) => one.InstanceType))];
      expect(types.length).toBeGreaterThan(1);
      for (const type of types) expect(type).toMatch(/^[cmr]\d/);
      const catalogue = world.box.sandbox.aws.state.catalogue.facts;
      for (const type of types) {
        expect(catalogue.get(type as string)?.arch, type).toBe("amd64");
      }

      const [claim] = await account.items(CLAIMS);
      expect(claim.metadata.labels["karpenter.sh/capacity-type"]).toBe("spot");
      const [instance] = await account.instances();
      expect(instance?.InstanceLifecycle).toBe("spot");
      const [node, ...others] = await account.items(TEAM);
      expect(others).toEqual([]);
      expect(node.metadata.name).toBe(instance?.PrivateDnsName);
      // The condition that the CLI's describe-instances evaluates with --query
      // "Reservations[].Instances[?PrivateDnsName == '…'].InstanceId".
      const { Reservations } = await world.box.sandbox.aws.api.ec2.describeInstances({});
      const named = Reservations.flatMap(({ Instances }) =>
        Instances.filter(({ PrivateDnsName }) => PrivateDnsName === node.metadata.name),
      );
      expect(named.map(({ InstanceId }) => InstanceId)).toEqual([
        claim.status.providerID.split("/").at(-1),
      ]);
      expect(node.metadata.labels).toMatchObject({
        "eks-immersion-team": "my-team",
        "kubernetes.io/arch": "amd64",
        "karpenter.sh/capacity-type": "spot",
      });
      expect(await account.items(`${NODES}?labelSelector=intent=apps`)).toEqual([]);
      expect(await account.items(`${NODES}?labelSelector=managed-by`)).toEqual([]);
      expect(await account.tags(instance?.InstanceId ?? "")).toMatchObject({
        intent: "apps",
        "managed-by": "karpenter",
        "eks-immersion-team": "my-team",
      });
    }, WHOLE_REGION));

  it("use the last of two nodeSelectors, as kubectl does (S4-11)", () =>
    inAccount(async ({ world, ...account }) => {
      await world.applySeed("s4-01-spot.yaml");
      await world.applySeed("negative/s4-02-spot-deploy-duplicate-key-asis.yaml");
      const pods = await account.running("inflate", 2);
      for (const { spec } of pods) {
        expect(spec.nodeSelector).toEqual({ "eks-immersion-team": "my-team" });
      }
    }));
});

describe("S4: the removal of spot.yaml and spot-deploy.yaml", () => {
  it("lets consolidation remove the empty nodes once the deployment is deleted (S4-01)", () =>
    inAccount(async ({ world, ...account }) => {
      await world.applySeed("s4-01-spot.yaml");
      await world.applySeed("s4-02-spot-deploy.yaml");
      await account.running("inflate", 2);
      const [instance] = await account.instances();
      // Waits until the nodes are no longer nominated for pods.
      await world.advance(60_000);
      expect((await account.send("DELETE", `${DEPLOYMENTS}/inflate`)).status).toBe(200);
      await world.advance(30_000);
      for (const { metadata } of await account.items(CLAIMS))
        expect(metadata.deletionTimestamp).toBeDefined();
      await world.until(
        "the pool's nodes are gone",
        async () => (await account.items(CLAIMS)).length + (await account.items(TEAM)).length === 0,
        120_000,
      );
      expect(account.said("via consolidation delete, terminating 1")).toHaveLength(1);
      const record = world.box.sandbox.aws.state.instances.get(instance?.InstanceId ?? "");
      expect(["shutting-down", "terminated"]).toContain(record?.state);
    }));

  it("deletes a pool by its singular name with its claims, and a class once those are gone (S4-02, S4-03)", () =>
    inAccount(async ({ world, ...account }) => {
      await world.applySeed("s4-01-spot.yaml");
      await world.applySeed("s4-02-spot-deploy.yaml");
      await account.running("inflate", 2);
      const kinds = await account.read("/apis/karpenter.sh/v1beta1");
      const names = kinds.resources.map((one: { singularName: string }) => one.singularName);
      expect(names).toContain("nodepool");
      const profile = (await account.read(`${CLASSES}/default`)).status.instanceProfile;
      const { profiles, launchTemplates } = world.box.sandbox.aws.state;
      expect(profiles.has(profile)).toBe(true);

      await world.remove("EC2NodeClass", "default", AWS_BETA);
      await world.advance(1_000);
      const waiting = await account.read(`${CLASSES}/default`);
      expect(waiting.metadata.deletionTimestamp).toBeDefined();
      expect((await account.events("EC2NodeClass")).join("\n")).toContain(
        "WaitingOnNodeClaimTermination: Waiting on NodeClaim termination for default-",
      );
      expect(profiles.has(profile)).toBe(true);

      await world.remove("NodePool", "default", BETA);
      await world.until(
        "claims, instances and class are gone",
        async () =>
          (await account.items(CLAIMS)).length === 0 &&
          (await account.instances()).length === 0 &&
          (await account.send("GET", `${CLASSES}/default`)).status === 404,
      );
      expect(profiles.has(profile)).toBe(false);
      expect([...launchTemplates.values()].map(({ name }) => name)).toEqual([]);
      expect((await account.send("GET", `${POOLS}/default`)).status).toBe(404);
    }));
});
