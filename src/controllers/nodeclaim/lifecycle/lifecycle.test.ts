import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../../apis/core/node.ts";
import { POD } from "../../../apis/core/pod.ts";
import { condition } from "../../../apis/karpenter/conditions.ts";
import { MACHINE } from "../../../apis/karpenter/machine.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../../apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../../../apis/meta.ts";
import { RESOURCE_SLICE } from "../../../apis/resource/kinds.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { CreateError, InsufficientCapacityError } from "../../../core/cloudprovider/errors.ts";
import { KubeError } from "../../../kube/errors.ts";
import type { Informer } from "../../../kube/mirror/informer.ts";
import { compileDeviceSelector } from "../../../readers/device-selectors.ts";
import { nodePool, pod } from "../../../testing/builders.ts";
import { DRIVER, gpus, slice } from "../../../testing/devices.ts";
import { type FakeWorld, fakeWorld } from "../../../testing/fake-world.ts";
import { meteredCloud } from "../../metered-cloud.ts";
import { Overlays, overlaidCloud } from "../../nodeoverlay/overlays.ts";
import { createRegistrationTracker } from "../../registration-tracker.ts";
import { lifecycle } from "./controller.ts";

const CLAIM = {
  metadata: { name: "default-abcde", labels: { "karpenter.sh/nodepool": "default", team: "a" } },
  spec: {
    requirements: [{ key: "node.kubernetes.io/instance-type", operator: "In", values: ["c-4x"] }],
    resources: { requests: { cpu: "1" } },
    startupTaints: [{ key: "example.com/agent", effect: "NoSchedule" }],
    nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
    expireAfter: "720h",
  },
} as NodeClaim;

const NOT_READY = { conditions: [{ type: "Ready", status: "False" }] };
const POOL_UID = "pool-1";
const HELD = ["karpenter.sh/termination", "example.com/held"];

async function start(
  claim: KubeObject = CLAIM,
  kind: never = NODE_CLAIM as never,
): Promise<FakeWorld> {
  const world = fakeWorld();
  await world.run(lifecycle(world, createRegistrationTracker()));
  await world.api.create(kind, claim as never);
  await world.clock.settle();
  return world;
}

/** How many claims timed out without an instance or Node, for each series of the metric. */
const timeouts = (
  { measured }: FakeWorld,
  what: "launch" | "registration" | "initialization" = "registration",
): readonly number[] =>
  [...measured].flatMap(([series, count]) =>
    new RegExp(`^nodeclaims_disrupted_total.*reason=${what}_timeout`).test(series) ? [count] : [],
  );

/** A world with a claim of a pool whose status cannot be written. */
async function startOwned(tracker = createRegistrationTracker()): Promise<FakeWorld> {
  const world = fakeWorld();
  const pool = nodePool();
  await world.api.create(NODE_POOL, { ...pool, metadata: { ...pool.metadata, uid: POOL_UID } });
  const patch = world.api.patch;
  Object.assign(world.kube, {
    patch: async (...call: Parameters<typeof patch>) => {
      if (call[0] === NODE_POOL) throw new KubeError(503, undefined, "pool is away");
      return patch(...call);
    },
  });
  await world.run(lifecycle(world, tracker));
  const owner = { apiVersion: "karpenter.sh/v1", kind: "NodePool", name: "default", uid: POOL_UID };
  await world.api.create(NODE_CLAIM, {
    ...CLAIM,
    metadata: { ...CLAIM.metadata, ownerReferences: [owner] },
    spec: { ...CLAIM.spec, startupTaints: [] },
  });
  await world.clock.settle();
  return world;
}

/** Makes the cloud answer the first launch only when the returned function is called. */
function answerLate(world: FakeWorld): () => void {
  const create = world.cloud.create;
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  Object.assign(world.cloud, {
    create: async (claim: NodeClaim) => {
      const launched = await create(claim);
      if (world.cloud.creates === 1) await answered;
      return launched;
    },
  });
  return () => answer();
}

const claimOf = (world: FakeWorld): NodeClaim =>
  world.api.find(NODE_CLAIM, "default-abcde") as NodeClaim;
const statusOf = (world: FakeWorld, type: string): string =>
  `${condition(claimOf(world), type)?.status} ${condition(claimOf(world), type)?.reason}`;

describe("a NodeClaim whose pods have ResourceClaims", () => {
  const annotations = { "karpenter.sh/requested-dra-drivers": DRIVER };
  const claim = {
    ...CLAIM,
    metadata: { ...CLAIM.metadata, annotations },
    spec: { ...CLAIM.spec, startupTaints: [] },
  };
  const begun = async (settings: Parameters<typeof fakeWorld>[0]) => {
    const world = fakeWorld(settings);
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, claim);
    await world.clock.settle();
    await world.join(claimOf(world));
    await world.clock.settle();
    return world;
  };

  it("is initialized once the DRA driver has published a complete pool of ResourceSlices", async () => {
    const world = await begun({ compileSelector: compileDeviceSelector });
    expect(statusOf(world, "Initialized")).toBe("Unknown DRADriverPoolsNotPublished");
    await world.api.create(RESOURCE_SLICE, slice("n", gpus(1), { nodeName: "node-default-abcde" }));
    await world.clock.settle();
    expect(statusOf(world, "Initialized")).toBe("True Initialized");
  });

  it("is deleted if the DRA driver publishes nothing within the initialization timeout", async () => {
    const world = await begun({ compileSelector: compileDeviceSelector });
    await world.clock.advance(29 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(2 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeDefined();
    const [told] = world.published.filter(({ reason }) => reason === "InitializationTimeout");
    expect(told?.message).toContain(
      `DRADriverPoolsNotPublished: DRA driver "${DRIVER}" has not published a complete resource pool`,
    );
    await world.stop();
  });

  it("is kept if the API server has the driver's ResourceSlice and the mirror does not", async () => {
    const world = await begun({ compileSelector: compileDeviceSelector });
    const { list } = world.kube;
    const items = [slice("n", gpus(1), { nodeName: "node-default-abcde" })];
    const whole = (kind: Kind, options?: object) =>
      kind.kind === "ResourceSlice"
        ? Promise.resolve({ items, resourceVersion: "1" })
        : list(kind, options);
    Object.assign(world.kube, { list: whole });
    await world.clock.advance(45 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    await world.stop();
  });

  it("is initialized without ResourceSlices where ResourceClaims are ignored", async () => {
    expect(statusOf(await begun({}), "Initialized")).toBe("True Initialized");
  });
});

describe("the lifecycle of a NodeClaim", () => {
  it("launches, registers the Node that joins, and initializes it once its startup taints are gone", async () => {
    const world = await start();
    expect(claimOf(world).status?.providerID).toBe("fake:///default-abcde");
    expect(statusOf(world, "Launched")).toBe("True Launched");
    expect(statusOf(world, "Registered")).toBe("Unknown NodeNotFound");

    await world.join(claimOf(world));
    await world.clock.settle();
    const node = world.api.find(NODE, "node-default-abcde");
    expect(node?.metadata.labels).toMatchObject({
      team: "a",
      "karpenter.sh/registered": "true",
      "node.kubernetes.io/instance-type": "c-4x",
    });
    expect(node?.metadata.finalizers).toEqual(["karpenter.sh/termination"]);
    expect(node?.metadata.ownerReferences?.[0]).toMatchObject({
      apiVersion: "karpenter.sh/v1",
      kind: "NodeClaim",
      name: "default-abcde",
      blockOwnerDeletion: true,
    });
    expect(node?.spec?.taints).toEqual([{ key: "example.com/agent", effect: "NoSchedule" }]);
    expect(statusOf(world, "Initialized")).toBe("Unknown StartupTaintsExist");

    world.api.change(NODE, "node-default-abcde", { spec: { taints: null } });
    await world.clock.settle();
    expect(statusOf(world, "Initialized")).toBe("True Initialized");
    expect(statusOf(world, "Ready")).toBe("True Ready");
    expect(claimOf(world).status?.nodeName).toBe("node-default-abcde");
    expect(
      world.lines.filter((line) => line.startsWith("info")).map((line) => line.split(" {")[0]),
    ).toEqual([
      "info launched nodeclaim",
      "info registered nodeclaim",
      "info initialized nodeclaim",
    ]);
    expect(world.cloud.creates).toBe(1);
    await world.stop();
  });

  it("registers a Node once the cloud gives its placement group partition, and labels it with that", async () => {
    const world = fakeWorld();
    const key = "karpenter.k8s.aws/placement-group-partition";
    let labels: object | undefined;
    Object.assign(world.cloud, { labelsOfRunning: async () => labels });
    // The cloud is wrapped in the same layers as in the product.
    const overlaid = { ...world, cloud: overlaidCloud(world.cloud, new Overlays()) };
    const cloud = meteredCloud(overlaid, "nodeclaim.lifecycle", new Map());
    await world.run(lifecycle({ ...world, cloud }, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.settle();
    await world.join(claimOf(world));
    await world.clock.settle();
    expect(statusOf(world, "Registered")).toBe("Unknown AwaitingPlacement");
    labels = { [key]: "3" };
    await world.clock.advance(6_000);
    expect(statusOf(world, "Registered")).toBe("True Registered");
    expect(claimOf(world).metadata.labels?.[key]).toBe("3");
    expect(world.api.find(NODE, "node-default-abcde")?.metadata.labels?.[key]).toBe("3");
    await world.stop();
  });

  it("deletes a NodeClaim for which the cloud has insufficient capacity", async () => {
    const world = fakeWorld();
    world.cloud.refusals.push(new InsufficientCapacityError("no c-4x in zone-a"));
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(2_000);
    expect(claimOf(world)).toBeUndefined();
    expect(world.published.map(({ reason }) => reason)).toContain("InsufficientCapacityError");
    await world.stop();
  });

  it("writes why a launch fails in the Launched condition, and tries again", async () => {
    const world = fakeWorld();
    const refusal = new CreateError("boom", { reason: "NoSubnets", message: "none matched" });
    // Storing the reason causes one reconcile at once; the next failure is retried only after a delay.
    world.cloud.refusals.push(refusal, refusal);
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.settle();
    expect(statusOf(world, "Launched")).toBe("Unknown NoSubnets");
    await world.clock.advance(2_500);
    expect(statusOf(world, "Launched")).toBe("True Launched");
    expect(world.cloud.creates).toBe(3);
    await world.stop();
  });

  it.each(["NodeClaim", "Node"])(
    "does not take an instance that another %s has, and says so",
    async (kind) => {
      const world = fakeWorld();
      const { create } = world.cloud;
      world.cloud.create = async (claim) => {
        const launched = await create(claim);
        return { ...launched, status: { ...launched.status, providerID: "fake:///other" } };
      };
      const status = { providerID: "fake:///other", conditions: [] };
      const other = { ...CLAIM, metadata: { ...CLAIM.metadata, name: "other" }, status };
      if (kind === "NodeClaim") await world.api.create(NODE_CLAIM, other);
      else
        await world.api.create(NODE, {
          metadata: { name: "other" },
          spec: { providerID: "fake:///other" },
        });
      // So long that no two clocks of API servers explain it.
      await world.clock.advance(6 * 60_000);
      await world.run(lifecycle(world, createRegistrationTracker()));
      await world.api.create(NODE_CLAIM, CLAIM);
      await world.clock.advance(2_000);
      expect(claimOf(world).status?.providerID).toBeUndefined();
      expect(condition(claimOf(world), "Launched")).toMatchObject({
        status: "Unknown",
        message: "the cloud answered the launch with instance fake:///other, which other has",
      });
      expect(world.cloud.instances.has("fake:///default-abcde")).toBe(true);
      await world.stop();
    },
  );

  it("launches no second instance for a NodeClaim whose status is cleared before its Node joins", async () => {
    const world = fakeWorld();
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(2_000);
    const { providerID } = claimOf(world).status ?? {};
    world.api.change(NODE_CLAIM, CLAIM.metadata.name, { status: {} });
    await world.clock.advance(2_000);
    expect(claimOf(world).status?.providerID).toBe(providerID);
    expect(statusOf(world, "Launched")).toBe("True Launched");
    expect(world.cloud.creates).toBe(1);
    await world.stop();
  });

  it("tries a failed launch again no sooner when the cloud's error message differs each time", async () => {
    const world = fakeWorld();
    const refusal = (n: number) =>
      new CreateError("boom", { reason: "LaunchFailed", message: `request ${n} failed` });
    world.cloud.refusals.push(...Array.from({ length: 50 }, (_, n) => refusal(n)));
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.settle();
    expect(world.cloud.creates).toBe(2);
    expect(condition(claimOf(world), "Launched")?.message).toBe("request 0 failed");
    await world.stop();
  });

  it("launches one instance only when writing the NodeClaim's status fails", async () => {
    const world = fakeWorld();
    await world.run(lifecycle(world, createRegistrationTracker()));
    const patch = world.api.patch;
    let failures = 0;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[3] === "status" && world.cloud.creates === 1 && failures++ === 0)
          throw new Error("connection reset");
        return patch(...call);
      },
    });
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(5_000);
    expect(failures).toBeGreaterThan(0);
    expect(statusOf(world, "Launched")).toBe("True Launched");
    expect(world.cloud.creates).toBe(1);
    await world.stop();
  });

  it("after write conflicts on a Node that joins during the launch, tries again at each change of it", async () => {
    const world = fakeWorld();
    const create = world.cloud.create;
    Object.assign(world.cloud, {
      create: async (claim: NodeClaim) => {
        const launched = await create(claim);
        await world.join({ ...claim, ...launched, metadata: claim.metadata });
        return launched;
      },
    });
    const patch = world.api.patch;
    const triedMs: number[] = [];
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === NODE) triedMs.push(world.clock.now());
        if (call[0] === NODE && triedMs.length <= 5)
          throw new KubeError(409, { reason: "Conflict" }, "patch node");
        return patch(...call);
      },
    });
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.settle();
    // The results of earlier steps are stored, so that changes of the Node can be mapped to the claim.
    expect(claimOf(world).status?.providerID).toBe("fake:///default-abcde");
    expect(statusOf(world, "Launched")).toBe("True Launched");
    for (let change = 0; change < 5; change++) {
      world.api.change(NODE, "node-default-abcde", {
        metadata: { annotations: { seen: String(change) } },
      });
      await world.clock.settle();
    }
    expect(statusOf(world, "Registered")).toBe("True Registered");
    expect(new Set(triedMs).size).toBe(1);
    await world.stop();
  });

  it("is reconciled again soon after each write conflict, even if no object changes", async () => {
    const world = await start();
    const patch = world.api.patch;
    let lost = 0;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === NODE && lost++ < 8)
          throw new KubeError(409, { reason: "Conflict" }, "patch node");
        return patch(...call);
      },
    });
    await world.join(claimOf(world));
    await world.clock.advance(6_000);
    expect(lost).toBeGreaterThan(8);
    expect(statusOf(world, "Registered")).toBe("True Registered");
    await world.stop();
  });

  it("does not delete a NodeClaim whose Node has joined and is not seen yet by the informer", async () => {
    const world = await start();
    const { list } = world.kube;
    const providerID = claimOf(world).status?.providerID;
    const unseen = { metadata: { name: "unseen" }, spec: { providerID } };
    const withIt = async (kind: Kind, options = {}) => {
      const listed = await list(kind, options);
      return kind === NODE ? { ...listed, items: [...listed.items, unseen] } : listed;
    };
    Object.assign(world.kube, { list: withIt });
    await world.clock.advance(20 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    expect(timeouts(world)).toEqual([]);
    Object.assign(world.kube, { list });
    await world.clock.advance(2 * 60_000);
    expect(timeouts(world)).toEqual([1]);
    await world.stop();
  });

  it("does not delete a NodeClaim whose Node cannot be patched while pods run there", async () => {
    const world = await start();
    const { list, patch } = world.kube;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === NODE) throw new Error("connection reset");
        return patch(...call);
      },
      list: async (kind: Kind, options = {}) =>
        kind === (POD as Kind)
          ? { items: [pod({ name: "a", nodeName: "x" })], resourceVersion: "1" }
          : list(kind, options),
    });
    await world.join(claimOf(world));
    await world.clock.advance(20 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    await world.stop();
  });

  it("deletes a NodeClaim after the registration timeout if its Node cannot be patched", async () => {
    const world = await start();
    const patch = world.api.patch;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === NODE) throw new Error("connection reset");
        return patch(...call);
      },
    });
    await world.join(claimOf(world));
    await world.clock.advance(14 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(3 * 60_000);
    const left = world.api.find(NODE_CLAIM, "default-abcde") as NodeClaim | undefined;
    expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
    await world.stop();
  });

  it("logs a failed deletion besides a write conflict, and retries it after the longer delay", async () => {
    const world = await start();
    const patch = world.api.patch;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === NODE) throw new KubeError(409, { reason: "Conflict" }, "patch node");
        return patch(...call);
      },
    });
    world.api.undeletable.add("default-abcde");
    await world.join(claimOf(world));
    await world.clock.advance(15 * 60_000 + 5_000);
    const told = () => world.lines.filter((line) => line.includes("Reconciler error"));
    expect(told()[0]).toContain("patch node");
    expect(told()[0]).toContain("the server is away");
    // A failure is retried after a longer delay than a conflict.
    const before = told().length;
    await world.clock.advance(60_000);
    expect(told().length - before).toBeLessThan(10);
    expect(timeouts(world)).toEqual([]);
    world.api.undeletable.clear();
    await world.clock.advance(2 * 60_000);
    expect(claimOf(world)).toBeUndefined();
    expect(timeouts(world)).toEqual([1]);
    await world.stop();
  });

  it("logs a failed launch together with the failed patch of the NodeClaim", async () => {
    const world = fakeWorld();
    world.cloud.refusals.push(new CreateError("boom", { reason: "NoSubnets", message: "none" }));
    await world.run(lifecycle(world, createRegistrationTracker()));
    const patch = world.api.patch;
    let failures = 0;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (world.cloud.creates === 1 && failures++ === 0) throw new Error("connection reset");
        return patch(...call);
      },
    });
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.settle();
    const [told] = world.lines.filter((line) => line.includes("Reconciler error"));
    expect(told).toContain("launching nodeclaim: boom");
    expect(told).toContain("connection reset");
    await world.stop();
  });

  it("logs the launch, registration and initialization, even if the NodePool's status cannot be patched", async () => {
    const world = await startOwned();
    await world.join(claimOf(world));
    await world.clock.advance(5_000);
    expect(statusOf(world, "Initialized")).toBe("True Initialized");
    const told = world.lines.map((line) => line.split(" {")[0]);
    expect(told.filter((line) => line?.endsWith("nodeclaim"))).toEqual([
      "info launched nodeclaim",
      "info registered nodeclaim",
      "info initialized nodeclaim",
    ]);
    expect(told).toContain("error Reconciler error");
    await world.stop();
  });

  it("counts the registration timeout once, even if the NodePool's status cannot be patched", async () => {
    const tracker = createRegistrationTracker();
    tracker.record(POOL_UID, false);
    const world = await startOwned(tracker);
    // Another finalizer keeps the claim in existence for some time.
    world.api.change(NODE_CLAIM, "default-abcde", { metadata: { finalizers: HELD } });
    const patch = world.kube.patch;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === NODE) throw new KubeError(409, { reason: "Conflict" }, "patch node");
        return patch(...call);
      },
    });
    await world.join(claimOf(world));
    await world.clock.advance(15 * 60_000);
    await world.clock.advance(5 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeDefined();
    expect(timeouts(world)).toEqual([1]);
    const told = world.lines.filter((line) => line.includes("Reconciler error"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("pool is away");
    expect(tracker.verdict(POOL_UID)).toBe("unhealthy");
    await world.stop();
  });

  it("deletes a NodeClaim whose launch fails for five minutes", async () => {
    const world = fakeWorld();
    const refusal = new CreateError("boom", { reason: "NoSubnets", message: "none matched" });
    world.cloud.refusals.push(...Array.from({ length: 100 }, () => refusal));
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(4 * 60_000);
    expect(claimOf(world)).toBeDefined();
    // The delay after a failure grows to a minute.
    await world.clock.advance(2 * 60_000 + 5_000);
    expect(claimOf(world)).toBeUndefined();
    expect(timeouts(world, "launch")).toEqual([1]);
    expect(world.published.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "LaunchTimeout: Not launched within 5m0s, its pods are planned anew: none matched",
    ]);
    await world.stop();
  });

  it.each([
    ["never", []],
    ["a quarter of an hour later", ["info ended an instance that was launched too late"]],
  ])(
    "deletes an unlaunched NodeClaim after 5 minutes if the cloud answers %s, and ends a late instance",
    async (when, told) => {
      const world = fakeWorld();
      const create = world.cloud.create;
      Object.assign(world.cloud, {
        create: async (claim: NodeClaim) => {
          const launched = await create(claim);
          await (when === "never" ? new Promise(() => undefined) : world.clock.sleep(15 * 60_000));
          return launched;
        },
      });
      await world.run(lifecycle(world, createRegistrationTracker()));
      await world.api.create(NODE_CLAIM, CLAIM);
      await world.clock.advance(4 * 60_000);
      expect(claimOf(world)).toBeDefined();
      await world.clock.advance(61_000);
      expect(claimOf(world)).toBeUndefined();
      expect(timeouts(world, "launch")).toEqual([1]);
      expect(world.published.map(({ message }) => message)).toEqual([
        "Not launched within 5m0s, its pods are planned anew: the cloud has not answered",
      ]);
      await world.clock.advance(20 * 60_000);
      expect(world.lines.map((line) => line.split(" {")[0])).toEqual(expect.arrayContaining(told));
      // nodeclaim.garbagecollection will terminate the instance that no claim names.
      expect(world.cloud.instances.size).toBe(when === "never" ? 1 : 0);
      expect(world.cloud.creates).toBe(1);
      await world.stop();
    },
  );

  it.each([
    ["exists, though the informer has lost it", 1, "True Launched"],
    ["cannot be read", 1, undefined],
    ["is gone", 0, undefined],
  ])(
    "before it ends an instance, gets its NodeClaim from the API server, where the claim %s",
    async (how, instances, launched) => {
      const world = fakeWorld();
      const answer = answerLate(world);
      await world.run(lifecycle(world, createRegistrationTracker()));
      await world.api.create(NODE_CLAIM, CLAIM);
      await world.clock.settle();
      const claim = claimOf(world);
      if (launched === undefined) world.api.vanish(NODE_CLAIM as Kind, "default-abcde");
      else
        (world.mirrors.of(NODE_CLAIM) as Informer<NodeClaim>).take({
          type: "DELETED",
          object: claim,
        });
      if (how === "cannot be read")
        Object.assign(world.kube, {
          get: async () => {
            throw new KubeError(503, undefined, "away");
          },
        });
      await world.clock.settle();
      answer();
      await world.clock.advance(1_000);
      // nodeclaim.garbagecollection terminates an instance without a claim.
      expect(world.cloud.instances.size).toBe(instances);
      if (launched !== undefined) expect(statusOf(world, "Launched")).toBe(launched);
      await world.stop();
    },
  );

  it("ends no instance before its Node is gone, even if the informer does not have that Node", async () => {
    const world = await start();
    await world.join(claimOf(world));
    await world.clock.advance(5_000);
    expect(statusOf(world, "Registered")).toBe("True Registered");
    const name = "node-default-abcde";
    const unseen = world.api.find(NODE, name) as Node;
    expect(unseen.spec?.providerID).toBe(claimOf(world).status?.providerID);
    world.api.vanish(NODE, name);
    await world.clock.settle();
    const { get } = world.kube;
    const asked: string[] = [];
    const isThere = { value: true };
    Object.assign(world.kube, {
      get: async (...call: Parameters<typeof get>) => {
        if (call[0] !== NODE) return get(...call);
        asked.push(call[1].name);
        return isThere.value ? unseen : get(...call);
      },
    });
    await world.kube.delete(NODE_CLAIM, { name: "default-abcde" });
    await world.clock.advance(30_000);
    expect(world.cloud.instances.size).toBe(1);
    isThere.value = false;
    await world.clock.advance(30_000);
    expect(world.cloud.instances.size).toBe(0);
    expect(new Set(asked)).toEqual(new Set([name]));
    await world.stop();
  });

  it("launches another instance for a NodeClaim that lost our finalizer during its launch", async () => {
    const world = fakeWorld();
    const answer = answerLate(world);
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.settle();
    world.api.change(NODE_CLAIM, "default-abcde", { metadata: { finalizers: null } });
    await world.clock.settle();
    answer();
    await world.clock.advance(5_000);
    expect(world.lines.map((line) => line.split(" {")[0])).toContain(
      "info ended an instance that was launched too late",
    );
    expect(world.cloud.creates).toBe(2);
    expect(statusOf(world, "Launched")).toBe("True Launched");
    expect([...world.cloud.instances.keys()]).toEqual([claimOf(world).status?.providerID]);
    await world.stop();
  });

  it("adds its finalizer at most 15 times in ten minutes if another program removes it each time", async () => {
    const world = fakeWorld();
    let taken = 0;
    const { patch } = world.kube;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        const after = await patch(...call);
        if (call[0] !== NODE_CLAIM || after.metadata.finalizers === undefined) return after;
        if (taken++ > 500) throw new Error("a hot loop");
        return world.api.change(NODE_CLAIM, "default-abcde", { metadata: { finalizers: null } });
      },
    });
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(10 * 60_000);
    expect(taken).toBeGreaterThan(5);
    expect(taken).toBeLessThan(15);
    expect(world.lines.join("\n")).toContain("another program has taken the finalizer off");
    await world.stop();
  });

  it("ends an instance that the cloud returns while the finalizer of a late NodeClaim is removed", async () => {
    const world = fakeWorld();
    const answer = answerLate(world);
    const patch = world.kube.patch;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        const body = call[2].body as NodeClaim;
        if (body.metadata?.finalizers?.length === 0) {
          answer();
          await world.clock.sleep(10);
        }
        return patch(...call);
      },
    });
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(6 * 60_000);
    expect(claimOf(world)).toBeUndefined();
    expect(world.cloud.creates).toBe(1);
    expect(world.cloud.instances.size).toBe(0);
    expect(world.lines.filter((line) => line.startsWith("info ended"))).toHaveLength(1);
    await world.stop();
  });

  it("launches no second instance while a late NodeClaim cannot be deleted", async () => {
    const world = fakeWorld();
    const create = world.cloud.create;
    Object.assign(world.cloud, {
      create: async (claim: NodeClaim) => {
        const launched = await create(claim);
        await world.clock.sleep(8 * 60_000);
        return launched;
      },
    });
    world.api.undeletable.add("default-abcde");
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(7 * 60_000);
    expect(claimOf(world)).toBeDefined();
    await world.clock.advance(2 * 60_000);
    // The instance was launched in time, so the claim was not deleted.
    expect(statusOf(world, "Launched")).toBe("True Launched");
    expect(world.cloud.creates).toBe(1);
    expect(world.cloud.instances.size).toBe(1);
    await world.stop();
  });

  it("deletes a NodeClaim whose Node does not join within fifteen minutes, and ends the instance", async () => {
    const world = await start();
    await world.clock.advance(15 * 60_000 - 1_000);
    expect(claimOf(world)).toBeDefined();
    await world.clock.advance(10_000);
    expect(claimOf(world)).toBeUndefined();
    expect(world.cloud.instances.size).toBe(0);
    expect(timeouts(world)).toEqual([1]);
    expect(world.published.map(({ reason }) => reason)).toEqual(["RegistrationTimeout"]);
    await world.stop();
  });

  it("deletes a NodeClaim whose Node is not initialized exactly half an hour after it registered", async () => {
    const world = await start();
    await world.clock.advance(60_000);
    await world.join(claimOf(world), { status: NOT_READY });
    await world.clock.settle();
    expect(statusOf(world, "Registered")).toBe("True Registered");
    await world.clock.advance(30 * 60_000 - 1_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(2_000);
    expect(claimOf(world)?.metadata.deletionTimestamp).toBeDefined();
    expect(timeouts(world, "initialization")).toEqual([1]);
    expect(world.published.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "InitializationTimeout: Its node registered, but was not usable within 30m0s: NodeNotReady: Node status is NotReady",
    ]);
    await world.stop();
  });

  it("keeps a NodeClaim not initialized in time while pods run there that its mirror lacks", async () => {
    const world = await start();
    await world.join(claimOf(world), { status: NOT_READY });
    await world.clock.settle();
    const { list } = world.kube;
    const items = [pod({ name: "unseen", nodeName: "node-default-abcde" })];
    const whole = (kind: Kind, options: { fieldSelector?: string } = {}) =>
      options.fieldSelector === "spec.nodeName=node-default-abcde"
        ? Promise.resolve({ items, resourceVersion: "1" })
        : list(kind, options);
    Object.assign(world.kube, { list: whole });
    await world.clock.advance(35 * 60_000);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    Object.assign(world.kube, { list });
    await world.clock.advance(5 * 60_000);
    expect(claimOf(world)?.metadata.deletionTimestamp).toBeDefined();
    await world.stop();
  });

  it("counts the initialization timeout from its own start, for a NodeClaim that registered long before", async () => {
    const world = fakeWorld();
    const since = toRfc3339(world.clock.now() - 2 * 3_600_000);
    const is = (type: string, status: string) => ({ type, status, lastTransitionTime: since });
    const conditions = [
      is("Launched", "True"),
      is("Registered", "True"),
      is("Initialized", "Unknown"),
    ];
    const old = { ...CLAIM, status: { providerID: "fake:///old", conditions } } as NodeClaim;
    await world.api.create(NODE_CLAIM, old);
    await world.join(old, { status: NOT_READY });
    await world.clock.advance(3_600_000);
    await world.run(lifecycle(world, createRegistrationTracker()));
    await world.clock.advance(30 * 60_000 - 1_000);
    expect(timeouts(world, "initialization")).toEqual([]);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(2_000);
    expect(timeouts(world, "initialization")).toEqual([1]);
    await world.stop();
  });

  it("keeps the whole initialization timeout when the clock is set forward an hour", async () => {
    const world = await start();
    await world.clock.advance(60 * 60_000);
    await world.api.create(NODE_CLAIM, {
      ...CLAIM,
      metadata: { ...CLAIM.metadata, name: "default-young", uid: "young" },
    });
    await world.clock.settle();
    const young = () => world.api.find(NODE_CLAIM, "default-young") as NodeClaim;
    await world.join(young(), { status: NOT_READY });
    await world.clock.advance(5 * 60_000);
    world.clock.setBack(-60 * 60_000);
    world.api.change(NODE, "node-default-young", { status: { ...NOT_READY, phase: "Pending" } });
    await world.clock.advance(25 * 60_000 - 2_000);
    expect(young().metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(4_000);
    expect(timeouts(world, "initialization")).toEqual([1]);
    await world.stop();
  });

  it("keeps a NodeClaim whose Node became ready late, even if the Node cannot be patched", async () => {
    const world = await start({ ...CLAIM, spec: { ...CLAIM.spec, startupTaints: [] } } as never);
    await world.join(claimOf(world), { status: NOT_READY });
    await world.clock.advance(29 * 60_000);
    const patch = world.kube.patch;
    Object.assign(world.kube, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === (NODE as Kind)) throw new KubeError(503, undefined, "away");
        return patch(...call);
      },
    });
    const status = { conditions: [{ type: "Ready", status: "True" }], allocatable: { cpu: "4" } };
    world.api.change(NODE, "node-default-abcde", { status });
    await world.clock.advance(10 * 60_000);
    expect(claimOf(world)?.metadata.deletionTimestamp).toBeUndefined();
    Object.assign(world.kube, { patch });
    await world.clock.advance(20 * 60_000);
    expect(statusOf(world, "Initialized")).toBe("True Initialized");
    expect(timeouts(world, "initialization")).toEqual([]);
    await world.stop();
  });

  it("removes the finalizer of a deleted NodeClaim only when the cloud no longer knows its instance", async () => {
    const world = await start();
    world.cloud.endsAfter = 2;
    await world.api.delete(NODE_CLAIM, { name: "default-abcde" });
    await world.clock.settle();
    expect(statusOf(world, "InstanceTerminating")).toBe("True InstanceTerminating");
    await world.clock.advance(12_000);
    expect(claimOf(world)).toBeUndefined();
    expect(world.lines.some((line) => line.startsWith("info deleted nodeclaim"))).toBe(true);
    await world.stop();
  });

  it("deletes a Node that joins after its NodeClaim was deleted", async () => {
    const world = await start();
    world.cloud.endsAfter = 2;
    const claim = claimOf(world);
    await world.api.delete(NODE_CLAIM, { name: "default-abcde" });
    await world.clock.settle();
    await world.join(claim);
    await world.clock.settle();
    expect(world.api.find(NODE, "node-default-abcde")?.metadata.finalizers).toBeUndefined();
    await world.clock.advance(12_000);
    expect(claimOf(world)).toBeUndefined();
    expect(world.api.find(NODE, "node-default-abcde")).toBeUndefined();
    await world.stop();
  });

  it("launches, registers and initializes a Machine of the alpha API, with its conditions", async () => {
    const machine = {
      metadata: { name: "m", labels: { "karpenter.sh/provisioner-name": "default" } },
      spec: { machineTemplateRef: { name: "default" } },
    };
    const world = await start(machine as never, MACHINE as never);
    const status = (type: string) =>
      world.api.find(MACHINE, "m")?.status?.conditions?.find((one) => one.type === type)?.status;
    expect(status("MachineLaunched")).toBe("True");
    await world.join(
      { metadata: { name: "m" }, status: world.api.find(MACHINE, "m")?.status } as never,
      { spec: { providerID: "fake:///m" } },
    );
    await world.clock.settle();
    expect(status("MachineInitialized")).toBe("True");
    expect(world.lines.map((line) => line.split(" {")[0])).toEqual([
      "info launched machine",
      "debug registered machine",
      "debug initialized machine",
    ]);
    await world.stop();
  });
});
