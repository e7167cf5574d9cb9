/** Seed S3, NodePool: requirements, kubelet settings, taints, limits, weight. */
import { describe, expect, it } from "vitest";
import { parseUnits } from "../../src/base/quantity.ts";
import type { BoxOptions } from "../../src/cli/sandbox/box.ts";
import { seedObjects } from "../../src/testing/seed-manifests.ts";
import {
  type Account,
  CLAIMS,
  conditionOf,
  DEPLOYMENTS,
  inAccount,
  type Json,
  NODES,
  overrides,
  PODS,
  POOLS,
  seed,
  userDataOf,
  WHOLE_REGION,
} from "./account.ts";

const FOO: Partial<BoxOptions> = { clusterName: "foo-cluster" };

function prepare({ world }: Account): void {
  const { controls } = world.box.sandbox.aws;
  const named = (Value: string) => [{ Key: "Name", Value }];
  for (const [index, zone] of ["a", "b", "c"].entries()) {
    controls.addSubnet({
      zone: `us-west-2${zone}`,
      cidr: `10.0.${index + 1}.0/24`,
      tags: named("foo-private-subnet"),
    });
  }
  controls.addSecurityGroup({ name: "foo-group", tags: named("foo-private-sg") });
  controls.addRole("foo-node-role");
  for (const [name, architecture] of [
    ["foo-ami-x86", "x86_64"],
    ["foo-ami-arm", "arm64"],
  ] as const) {
    controls.addImage({ name, family: "AL2", architecture });
  }
}

const ROOM = { spec: { limits: { cpu: "100", memory: "400Gi" } } };
const onFoo = { "node.kubernetes.io/nodetype": "foo" };
const tolerant = {
  nodeSelector: onFoo,
  tolerations: [{ key: "example.com/special-taint", operator: "Exists" }],
};

describe("S3: the NodePool of the examples", () => {
  it("requests every size, family, zone and architecture that its requirements permit, and no other (S3-39, S3-61, S3-62, S3-63, S3-64, S3-65, S3-66)", () =>
    inAccount(
      async (account) => {
        const { world } = account;
        prepare(account);
        await world.applySeed("s3-30-ec2nodeclass-full.yaml");
        // This pool's limits are too small to launch anything; those of the next pool are not.
        await world.applySeed("s3-32-nodepool-full-2.yaml");
        await world.apply(seed("s3-31-nodepool-full-1.yaml", ROOM));
        await account.deploy("app", 1, { spec: tolerant });
        await world.until("a fleet is asked for", () => account.fleets().length > 0);
        const asked = overrides(account.fleets()[0]);
        const { facts } = world.box.sandbox.aws.state.catalogue;
        const types = [...new Set(asked.map(({ InstanceType }) => InstanceType as string))];
        expect(new Set(types.map((type) => type.split(".")[1])).size).toBeGreaterThan(1);
        for (const type of types) {
          expect(type).toMatch(/^[cmr]\d/);
          expect(Number(/\d+/.exec(type)?.[0]), type).toBeGreaterThan(2);
          expect([4, 8, 16, 32], type).toContain(facts.get(type)?.vcpus);
          expect(["c3", "m3", "r3", "c4", "m4", "r4"], type).not.toContain(type.split(".")[0]);
        }
        expect(new Set(types.map((type) => facts.get(type)?.arch))).toEqual(
          new Set(["amd64", "arm64"]),
        );
        const zones = asked.map(({ AvailabilityZone }) => AvailabilityZone);
        expect(new Set(zones)).toEqual(new Set(["us-west-2a", "us-west-2b"]));
        const subnets = asked.map(
          ({ SubnetId }) => world.box.sandbox.aws.state.subnets.get(SubnetId as string)?.zone,
        );
        expect(subnets).toEqual(zones);
        const [claim] = await account.items(CLAIMS);
        expect(claim.metadata.labels["karpenter.sh/nodepool"]).toBe("foo-nodepool");
      },
      { ...FOO, ...WHOLE_REGION },
    ));

  it("configures kubelets, subtracts their share from what pods may use, and sets taints (S3-48, S3-49, S3-50, S3-52, S3-53, S3-54, S3-55, S3-56, S3-57, S3-58, S3-72, S3-73)", () =>
    inAccount(async (account) => {
      const { world } = account;
      prepare(account);
      await world.applySeed("s3-30-ec2nodeclass-full.yaml");
      await world.apply(seed("s3-31-nodepool-full-1.yaml", ROOM));
      const small = { ...onFoo, "karpenter.k8s.aws/instance-cpu": "4" };
      await account.deploy("app", 1, { spec: { ...tolerant, nodeSelector: small } });
      await account.deploy("intolerant", 1, { spec: { nodeSelector: onFoo } });
      await world.advance(60_000);

      const text = userDataOf(account.templates()[0]);
      expect(text).toContain("--dns-cluster-ip '10.0.1.100'");
      for (const flag of [
        '--system-reserved="cpu=100m,ephemeral-storage=1Gi,memory=100Mi"',
        '--kube-reserved="cpu=200m,ephemeral-storage=3Gi,memory=100Mi"',
        '--eviction-hard="memory.available<5%,nodefs.available<10%,nodefs.inodesFree<10%"',
        '--eviction-soft="memory.available<500Mi,nodefs.available<15%,nodefs.inodesFree<15%"',
        '--eviction-soft-grace-period="memory.available=1m0s,nodefs.available=1m30s,nodefs.inodesFree=2m0s"',
        "--eviction-max-pod-grace-period=60",
        "--image-gc-high-threshold=85",
        "--image-gc-low-threshold=80",
        "--cpu-cfs-quota=true",
        "--pods-per-core=2",
        "--max-pods=20",
      ]) {
        expect(text).toContain(flag);
      }

      const [claim] = await account.items(CLAIMS);
      const { capacity, allocatable } = claim.status;
      expect(capacity).toMatchObject({ cpu: "4", pods: "8" });
      expect(allocatable).toMatchObject({ cpu: "3700m", pods: "8" });
      const bytes = (amount: string): number => parseUnits(amount) as number;
      expect(allocatable["ephemeral-storage"]).toBe("81Gi");
      const kept = bytes(capacity.memory) - bytes(allocatable.memory);
      const MIB = 1024 * 1024;
      const soft = 500 * MIB;
      const hard = Math.ceil(bytes(capacity.memory) * 0.05);
      expect(kept).toBe(200 * MIB + Math.max(soft, hard));

      const [node] = await account.items(`${NODES}?labelSelector=karpenter.sh/nodepool`);
      expect(node.metadata.annotations["example.com/owner"]).toBe("my-team");
      expect(claim.metadata.annotations["example.com/owner"]).toBe("my-team");
      expect(node.spec.taints).toEqual(
        expect.arrayContaining([
          { key: "example.com/special-taint", effect: "NoSchedule" },
          { key: "example.com/another-taint", effect: "NoSchedule" },
        ]),
      );
      const waiting = conditionOf(claim, "Initialized");
      expect(waiting.status).toBe("False");
      expect(`${waiting.reason}: ${waiting.message}`).toContain("example.com/another-taint");
      const taints = node.spec.taints.filter(
        ({ key }: Json) => key !== "example.com/another-taint",
      );
      await account.patch(`${NODES}/${node.metadata.name}`, { spec: { taints } });
      await account.running("app", 1);
      const [ready] = await account.items(CLAIMS);
      expect(conditionOf(ready, "Initialized").status).toBe("True");

      const [held] = await account.items(`${PODS}?labelSelector=app=intolerant`);
      expect(held.status.phase).toBe("Pending");
      expect((await account.events("Pod")).join("\n")).toContain(
        "did not tolerate taint (taint=example.com/special-taint:NoSchedule)",
      );
      expect(account.fleets()).toHaveLength(1);
    }, FOO));

  it("launches t3 in three sizes, on demand, Linux, labelled, and removes nodes 30 s after their last pod (S3-42, S3-59, S3-69, S3-70)", () =>
    inAccount(
      async (account) => {
        const { world } = account;
        prepare(account);
        await world.applySeed("s3-30-ec2nodeclass-full.yaml");
        await world.applySeed("s3-33-nodepool-large-limits.yaml");
        await account.deploy("app", 1, { spec: { nodeSelector: onFoo } });
        await account.running("app", 1);
        const [fleet] = account.fleets();
        const types = new Set(overrides(fleet).map(({ InstanceType }) => InstanceType));
        expect(types.size).toBeGreaterThan(0);
        for (const type of types) expect(["t3.medium", "t3.large", "t3.xlarge"]).toContain(type);
        expect(fleet?.TargetCapacitySpecification.DefaultTargetCapacityType).toBe("on-demand");
        expect(fleet?.OnDemandOptions?.AllocationStrategy).toBe("lowest-price");
        const [node] = await account.items(`${NODES}?labelSelector=karpenter.sh/nodepool`);
        expect(node.metadata.labels).toMatchObject({
          "kubernetes.io/os": "linux",
          "karpenter.k8s.aws/instance-family": "t3",
          "node.kubernetes.io/nodetype": "foo",
        });

        const [claim] = await account.items(CLAIMS);
        expect((await account.send("DELETE", `${DEPLOYMENTS}/app`)).status).toBe(200);
        await world.until(
          "the node is empty",
          async () => (await account.items(`${PODS}?labelSelector=app=app`)).length === 0,
        );
        const emptyMs = world.clock.now();
        await world.until("the claim is deleted", async () => {
          const { status, body } = await account.send("GET", `${CLAIMS}/${claim.metadata.name}`);
          return status === 404 || body.metadata.deletionTimestamp !== undefined;
        });
        const tookMs = world.clock.now() - emptyMs;
        expect(tookMs).toBeGreaterThanOrEqual(29_000);
        // After `consolidateAfter`: at most 10 s until the next disruption round, and some slack.
        expect(tookMs).toBeLessThanOrEqual(45_000);
      },
      { ...FOO, ...WHOLE_REGION },
    ));
});

describe("S3: limits and weight of NodePools", () => {
  it("the controller launches nothing above the limits until a node is gone, and reports it (S3-44, S3-45)", () =>
    inAccount(async (account) => {
      const { world } = account;
      prepare(account);
      await world.applySeed("s3-30-ec2nodeclass-full.yaml");
      await world.applySeed("s3-32-nodepool-full-2.yaml");
      const pool = await account.read(`${POOLS}/foo-nodepool-t3`);
      expect(pool.spec.limits).toEqual({ cpu: "1000m", memory: "1024Mi" });
      const wish = { spec: { nodeSelector: onFoo } };
      await account.deploy("one", 1, wish);
      await world.advance(15_000);
      expect(account.fleets()).toEqual([]);
      expect((await account.events("Pod")).join("\n")).toContain(
        'all available instance types exceed limits for nodepool: "foo-nodepool-t3"',
      );

      await account.patch(`${POOLS}/foo-nodepool-t3`, {
        spec: { limits: { cpu: "4", memory: "100Gi" }, disruption: { consolidateAfter: "10h" } },
      });
      // A pod for nodes with two CPUs.
      const onTwo = { spec: { nodeSelector: { ...onFoo, "karpenter.k8s.aws/instance-cpu": "2" } } };
      await account.deploy("one", 1, onTwo);
      await account.running("one", 1);
      await account.deploy("two", 1, onTwo);
      await account.running("two", 1);
      await account.deploy("three", 1, onTwo);
      await world.advance(30_000);
      expect(await account.items(CLAIMS)).toHaveLength(2);
      expect(account.said("could not schedule pod").at(-1)).toContain("three");
      expect(account.said("could not schedule pod").at(-1)).toMatch(/limits/);

      await account.send("DELETE", `${DEPLOYMENTS}/one`);
      const [first] = await account.items(CLAIMS);
      await account.send("DELETE", `${NODES}/${first.status.nodeName}`);
      await account.running("three", 1);
    }, FOO));

  it("the controller tries the pool with more weight first; the default is 0 (S3-46, S3-47)", () =>
    inAccount(async (account) => {
      const { world } = account;
      prepare(account);
      await world.applySeed("s3-30-ec2nodeclass-full.yaml");
      const file = "s3-33-nodepool-large-limits.yaml";
      for (const weight of [0, 101]) {
        const answer = await account.send("POST", POOLS, seed(file, { spec: { weight } }, "bad"));
        expect(answer.status).toBe(422);
        expect(answer.body.message).toContain("spec.weight");
      }
      // The order of the names is the reverse of the order of the weights.
      await world.apply(seed(file, { spec: { weight: null } }, "a-none"));
      await world.apply(seed(file, { spec: { weight: 1 } }, "b-one"));
      await account.deploy("first", 1, { spec: { nodeSelector: onFoo } });
      await account.running("first", 1);
      await world.apply(seed(file, { spec: { weight: 10 } }, "c-ten"));
      await world.apply(seed(file, { spec: { weight: 50 } }, "d-fifty"));
      await account.deploy("second", 1, { cpu: "1500m", spec: { nodeSelector: onFoo } });
      await account.running("second", 1);
      const pools = (await account.items(CLAIMS)).map(
        ({ metadata }) => metadata.labels["karpenter.sh/nodepool"],
      );
      expect(pools.sort()).toEqual(["b-one", "d-fifty"]);
    }, FOO));
});

describe("S3: a NodePool in the API server", () => {
  it("has no AWS field and no containerRuntime: an error if strict, otherwise dropped (S3-38, S3-51)", () =>
    inAccount(async ({ ...account }) => {
      const spec = (change: Json): Json => ({ spec: { template: { spec: change } } });
      const file = "s3-31-nodepool-full-1.yaml";
      const [fragment] = seedObjects("fragments/s3-18-np-kubelet.yaml");
      const runtime = seed(file, spec(fragment.spec.template.spec), "runtime");
      const family = seed(file, spec({ amiFamily: "AL2" }), "family");
      for (const [object, field] of [
        [runtime, "spec.template.spec.kubelet.containerRuntime"],
        [family, "spec.template.spec.amiFamily"],
      ] as const) {
        const strict = await account.send("POST", `${POOLS}?fieldValidation=Strict`, object);
        expect(strict.status).toBe(400);
        expect(strict.body.message).toContain(`unknown field "${field}"`);
        const loose = await account.send("POST", `${POOLS}?fieldValidation=Ignore`, object);
        expect(loose.status).toBe(201);
      }
      const { kubelet } = (await account.read(`${POOLS}/runtime`)).spec.template.spec;
      expect(kubelet).not.toHaveProperty("containerRuntime");
      expect(kubelet.maxPods).toBe(20);
      expect((await account.read(`${POOLS}/family`)).spec.template.spec).not.toHaveProperty(
        "amiFamily",
      );
    }));

  it("is refused with invalid kubelets, labels and requirements (S3-52, S3-54, S3-56, S3-59, S3-63, S3-65, S3-71)", () =>
    inAccount(async ({ ...account }) => {
      const file = "s3-31-nodepool-full-1.yaml";
      const kubelet = (change: Json): Json => ({
        spec: { template: { spec: { kubelet: change } } },
      });
      const labels = (change: Json): Json => ({
        spec: { template: { metadata: { labels: change } } },
      });
      const requirements = (...change: readonly Json[]): Json => ({
        spec: { template: { spec: { requirements: change } } },
      });
      const [integers] = seedObjects("fragments/s3-21-np-requirements-1.yaml");
      const generation = "karpenter.k8s.aws/instance-generation";
      const tries: readonly (readonly [string, Json, number, string])[] = [
        ["as it stands", {}, 201, ""],
        ["bad-key", kubelet({ systemReserved: { "example.com/x": "1" } }), 422, "systemReserved"],
        ["negative", kubelet({ kubeReserved: { cpu: "-1" } }), 422, "kubeReserved"],
        [
          "no-grace",
          kubelet({ evictionSoftGracePeriod: { "memory.available": null } }),
          422,
          "evictionSoft",
        ],
        ["no-soft", kubelet({ evictionSoft: { "memory.available": null } }), 422, "evictionSoft"],
        [
          "gc",
          kubelet({ imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 85 }),
          422,
          "imageGCHighThresholdPercent",
        ],
        ["label", labels({ "kubernetes.io/foo": "x" }), 422, "kubernetes.io"],
        ["integers", integers, 422, "spec.template.spec.requirements[1].values[0]"],
        [
          "two",
          requirements({ key: generation, operator: "Gt", values: ["2", "3"] }),
          422,
          "'Gt' or 'Lt'",
        ],
        ["custom", requirements({ key: "example.com/x", operator: "In", values: ["1"] }), 201, ""],
        [
          "hostname",
          requirements({ key: "kubernetes.io/hostname", operator: "In", values: ["a"] }),
          422,
          "kubernetes.io",
        ],
      ];
      for (const [name, change, status, text] of tries) {
        const object = seed(file, change, name.replaceAll(" ", "-"));
        const answer = await account.send("POST", POOLS, object);
        expect(answer.status, `${name}: ${answer.body.message}`).toBe(status);
        if (text !== "") expect(answer.body.message, name).toContain(text);
      }
    }));
});
