/** Nodes and claims that other programs have changed. An instance with pods is terminated only after a drain. */
import { describe, expect, it } from "vitest";
import { NAMESPACE } from "../../apis/core/kinds.ts";
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { withCondition } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../../apis/meta.ts";
import { pod } from "../../testing/builders.ts";
import { establish } from "../../testing/established.ts";
import { kubeSystem, ofCluster } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { createEvictionQueue } from "../node/eviction-queue.ts";
import { termination } from "../node/termination.ts";
import {
  claimGarbageCollection,
  instanceGarbageCollection,
} from "../nodeclaim/garbage-collection.ts";
import { lifecycle } from "../nodeclaim/lifecycle/controller.ts";
import { createRegistrationTracker } from "../registration-tracker.ts";

const MINUTE_MS = 60_000;

/** A world with a node a, whose pod may not be evicted. `before` changes the world first. */
async function worldOf(before: (world: FakeWorld) => unknown): Promise<FakeWorld> {
  const world = fakeWorld();
  await establish(world, "a", 60 * MINUTE_MS);
  await world.api.create(POD, pod({ name: "on-a", nodeName: "a" }));
  world.api.guarded.add("default/on-a");
  await before(world);
  const queue = createEvictionQueue(world);
  await world.run(
    lifecycle(world, createRegistrationTracker()),
    termination(world, queue, { mayLeave: () => true }),
    claimGarbageCollection(world),
    instanceGarbageCollection(world),
    queue.controller,
  );
  return world;
}

async function expectStays(world: FakeWorld): Promise<void> {
  await world.clock.advance(3 * MINUTE_MS);
  expect([...world.cloud.instances.keys()]).toContain("test://a");
  expect(world.api.all(POD)).toHaveLength(1);
}

function withNode({ api }: FakeWorld, change: (node: Node) => Node): Promise<Node> {
  const node = api.find(NODE, "a") as Node;
  api.vanish(NODE, "a");
  return api.create(NODE, change(node));
}

const named = (providerID: string) => (node: Node) => ({
  ...node,
  spec: { ...node.spec, providerID },
});

describe("a provider ID in another spelling", () => {
  it.each(["TEST://A", "test:///zone-a/a"])(
    "as %s on the Node: the instance is not ended before its pods are evicted",
    async (id) => {
      const world = await worldOf((one) => withNode(one, named(id)));
      await world.api.delete(NODE_CLAIM, { name: "a" });
      await expectStays(world);
      await world.stop();
    },
  );

  it("on the NodeClaim: garbage collection does not end the instance", async () => {
    const world = await worldOf((one) => {
      one.api.change(NODE_CLAIM, "a", { status: { providerID: "TEST://A" } });
      for (const [id, instance] of one.cloud.instances)
        one.cloud.instances.set(id, ofCluster({ ...instance, kind: "NodeClaim" }, "ours"));
    });
    await expectStays(world);
    expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeUndefined();
    await world.stop();
  });
});

describe("a NodeClaim whose provider ID a user changed", () => {
  const held = (world: FakeWorld) =>
    world.published.filter(({ reason }) => reason === "EndHeld").map(({ message }) => message);

  it.each(["test://gone", "test://b"])(
    "to %s keeps its instance, with an EndHeld event",
    async (id) => {
      const world = await worldOf(async (one) => {
        await establish(one, "b", 60 * MINUTE_MS);
        const { uid = "" } = one.api.find(NODE_CLAIM, "a")?.metadata ?? {};
        const owner = { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", name: "a", uid };
        one.api.change(NODE, "a", { metadata: { ownerReferences: [owner] } });
        one.api.change(NODE_CLAIM, "a", { status: { providerID: id } });
        for (const [key, instance] of one.cloud.instances)
          one.cloud.instances.set(key, ofCluster({ ...instance, kind: "NodeClaim" }, "ours"));
      });
      await expectStays(world);
      expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeUndefined();
      expect(world.api.find(NODE_CLAIM, "a")?.metadata.deletionTimestamp).toBeUndefined();
      expect(held(world)[0]).toContain(`whose status.providerID is ${id} and was test://a.`);
      await world.stop();
    },
  );

  it("to the instance of a Node that is not Karpenter's: that Node is not drained or deleted", async () => {
    const world = await worldOf((one) =>
      withNode(one, (node) => ({
        ...node,
        metadata: { name: node.metadata.name },
      })),
    );
    world.api.guarded.clear();
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await expectStays(world);
    expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeUndefined();
    expect(held(world)[0]).toContain("is that of Node a, which is not Karpenter's.");
    await world.stop();
  });
});

it("does not drain another instance's Node that has the Node name of a deleted NodeClaim", async () => {
  const world = await worldOf((one) => withNode(one, named("test://later")));
  world.api.guarded.clear();
  await world.api.delete(NODE_CLAIM, { name: "a" });
  await world.clock.advance(3 * MINUTE_MS);
  expect([...world.cloud.instances.keys()]).not.toContain("test://a");
  expect(world.api.find(NODE_CLAIM, "a")).toBeUndefined();
  expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeUndefined();
  expect(world.api.all(POD)).toHaveLength(1);
  await world.stop();
});

describe("an instance whose NodeClaim and Node the API server does not have", () => {
  it("stays while a pod is bound to its Node name, and is ended once none is", async () => {
    const world = await worldOf(async (one) => {
      await one.api.create(NAMESPACE, kubeSystem("ours"));
      one.api.vanish(NODE, "a");
      one.api.vanish(NODE_CLAIM, "a");
      for (const [key, instance] of one.cloud.instances)
        one.cloud.instances.set(key, ofCluster({ ...instance, kind: "NodeClaim" }, "ours"));
    });
    await expectStays(world);
    const held = world.published.find(({ reason }) => reason === "EndHeld");
    expect([held?.object.metadata.name, held?.message]).toEqual([
      "on-a",
      expect.stringContaining("is on Node a, which the API server does not have"),
    ]);
    world.api.vanish(POD, "default/on-a");
    await world.clock.advance(3 * MINUTE_MS);
    expect(world.cloud.instances.has("test://a")).toBe(false);
    await world.stop();
  });
});

it("ends an instance without NodeClaim although another instance's Node has its name", async () => {
  const world = await worldOf(async (one) => {
    await one.api.create(NAMESPACE, kubeSystem("ours"));
    one.api.vanish(NODE_CLAIM, "a");
    for (const [key, instance] of one.cloud.instances)
      one.cloud.instances.set(key, ofCluster({ ...instance, kind: "NodeClaim" }, "ours"));
    const { metadata, spec } = await withNode(one, named("test://b"));
    one.api.change(NODE, metadata.name, { metadata: { ownerReferences: [] }, spec });
  });
  await world.clock.advance(3 * MINUTE_MS);
  expect(world.cloud.instances.has("test://a")).toBe(false);
  expect(world.api.all(POD)).toHaveLength(1);
  await world.stop();
});

describe("the Node name of a deleted NodeClaim", () => {
  it("keeps the instance if a Node of that name has no provider ID yet", async () => {
    const world = await worldOf((one) => withNode(one, named("")));
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await expectStays(world);
    expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeUndefined();
    await world.stop();
  });
});

describe("a Node that never gets a provider ID", () => {
  const NOT_READY = { status: { conditions: [{ type: "Ready", status: "Unknown" }] } };
  const machines = ({ cloud }: FakeWorld) => [...cloud.instances.keys()];
  const untold = (change: (world: FakeWorld) => unknown = () => undefined) =>
    worldOf(async (one) => {
      await withNode(one, named(""));
      await change(one);
      await one.api.delete(NODE_CLAIM, { name: "a" });
    });

  it("has EndHeld events on it and its deleted NodeClaim that say what ends the wait", async () => {
    const world = await untold();
    await world.clock.advance(3 * MINUTE_MS);
    expect(machines(world)).toEqual(["test://a"]);
    const held = world.published.filter(({ reason }) => reason === "EndHeld");
    expect(new Set(held.map(({ object }) => object.kind))).toEqual(new Set(["Node", "NodeClaim"]));
    expect(held[0]?.message).toContain(
      "Node a has no provider ID and may belong to this instance. The termination waits until the Node has one, is deleted, or is not Ready and runs no pods. No terminationGracePeriod ends the wait.",
    );
    expect(world.lines.filter((line) => line.includes("reconciler error"))).toEqual([]);
    await world.stop();
  });

  it("keeps the instance while it has pods, and no longer once it has none and is not Ready", async () => {
    const world = await untold(({ api }) => api.change(NODE, "a", NOT_READY));
    await world.clock.advance(3 * MINUTE_MS);
    expect(machines(world)).toEqual(["test://a"]);
    world.api.vanish(POD, "default/on-a");
    await world.clock.advance(3 * MINUTE_MS);
    expect(machines(world)).toEqual([]);
    await world.stop();
  });

  it("keeps the instance until the NodeClaim's terminationGracePeriod is over", async () => {
    const world = await untold(({ api }) =>
      api.change(NODE_CLAIM, "a", { spec: { terminationGracePeriod: "10m" } }),
    );
    await world.clock.advance(9 * MINUTE_MS);
    expect(machines(world)).toEqual(["test://a"]);
    const held = world.published.find(({ reason }) => reason === "EndHeld");
    expect(held?.message).toMatch(/At the latest until \d{4}-\d\d-\d\dT/);
    await world.clock.advance(3 * MINUTE_MS);
    expect(machines(world)).toEqual([]);
    await world.stop();
  });
});

describe("a webhook that removes our finalizer from every write", () => {
  it("keeps the Node from being deleted, and the instance from ending", async () => {
    const world = await worldOf(({ api }) =>
      api.change(NODE, "a", { metadata: { finalizers: null } }),
    );
    const { patch } = world.kube;
    // Returns an object other than the stored one, as a mutating webhook would.
    const answered = async (...call: Parameters<typeof patch>) =>
      call[0] === NODE ? world.api.find(NODE, "a") : patch(...call);
    Object.assign(world.kube, { patch: answered });
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await expectStays(world);
    expect(world.api.find(NODE, "a")).toBeDefined();
    await world.stop();
  });
});

describe("a list with a wrong deletionTimestamp", () => {
  it.each([
    ["Node", NODE as Kind],
    ["NodeClaim", NODE_CLAIM as Kind],
  ])("on a %s: no Node is tainted or drained, and no instance is ended", async (_, kind) => {
    const world = await worldOf((one) => {
      const { list } = one.api;
      const deletionTimestamp = "2026-01-05T07:00:00Z";
      const lying = async (...call: Parameters<typeof list>) => {
        const { items, ...rest } = await list(...call);
        const changed = items.map((item) =>
          call[0] === kind ? { ...item, metadata: { ...item.metadata, deletionTimestamp } } : item,
        );
        return { ...rest, items: changed };
      };
      Object.assign(one.api, { list: lying });
      one.api.guarded.clear();
    });
    await expectStays(world);
    expect(world.api.find(NODE, "a")?.spec?.taints ?? []).toEqual([]);
    expect(world.api.journal).toEqual([]);
    await world.stop();
  });
});

describe("a NodeClaim whose Drained condition is True", () => {
  it("keeps its instance while pods are on its Node", async () => {
    const world = await worldOf(({ api, clock }) => {
      const claim = api.find(NODE_CLAIM, "a") as NodeClaim;
      const drained = { type: "Drained", status: "True" } as const;
      const { status } = withCondition(claim, drained, clock.now());
      api.change(NODE_CLAIM, "a", { status });
    });
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await expectStays(world);
    await world.stop();
  });
});
