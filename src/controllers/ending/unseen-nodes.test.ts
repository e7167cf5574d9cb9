/**
 * A Node with a pod that no list and no watch delivered to this process. Whatever deletes its claim, the instance is
 * kept until the Node is drained. It is also kept while the API server's answer is in doubt.
 */
import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { KubeError } from "../../kube/errors.ts";
import { pod } from "../../testing/builders.ts";
import { establish } from "../../testing/established.ts";
import { ofCluster } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { unseenByMirrors } from "../../testing/unseen.ts";
import { createEvictionQueue } from "../node/eviction-queue.ts";
import { termination } from "../node/termination.ts";
import { lifecycle } from "../nodeclaim/lifecycle/controller.ts";
import { createRegistrationTracker } from "../registration-tracker.ts";
import { endLateLaunch, endLeaked } from "./end-instance.ts";

/** A world with nodes a and b, each with a pod. The mirror lacks the Nodes `unseen`. */
async function worldOf(...unseen: readonly string[]): Promise<FakeWorld> {
  const world = fakeWorld();
  for (const name of ["a", "b"]) {
    await establish(world, name, 60 * 60_000);
    await world.api.create(POD, pod({ name: `on-${name}`, nodeName: name }));
  }
  unseenByMirrors(world, NODE, ...unseen);
  return world;
}

async function run(world: FakeWorld): Promise<void> {
  const queue = createEvictionQueue(world);
  const steering = { mayLeave: () => true };
  const tracker = createRegistrationTracker();
  await world.run(lifecycle(world, tracker), termination(world, queue, steering), queue.controller);
}

function unnamed(world: FakeWorld): void {
  world.api.change(NODE_CLAIM, "a", { status: { nodeName: null } });
}

const claimOf = (world: FakeWorld) => world.api.find(NODE_CLAIM, "a") as NodeClaim;
const machines = ({ cloud }: FakeWorld) => [...cloud.instances.keys()];
const podNames = ({ api }: FakeWorld) => api.all(POD).map(({ metadata: { name } }) => name);

describe("a deleted NodeClaim whose Node the informer lacks", () => {
  it.each([
    ["has status.nodeName", () => undefined],
    ["has no status.nodeName", unnamed],
    [
      "has the nodeName of a Node that is gone",
      (world: FakeWorld) => world.api.change(NODE_CLAIM, "a", { status: { nodeName: "before" } }),
    ],
    [
      "has the nodeName of another instance's Node",
      (world: FakeWorld) => world.api.change(NODE_CLAIM, "a", { status: { nodeName: "b" } }),
    ],
    [
      "has only its providerID left in its status",
      (world: FakeWorld) =>
        world.api.change(NODE_CLAIM, "a", { status: { nodeName: null, conditions: [] } }),
    ],
  ])("keeps its instance while the Node exists, if the NodeClaim %s", async (_, change) => {
    const world = await worldOf("a");
    change(world);
    await run(world);
    await world.kube.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(3 * 60_000);
    expect(machines(world)).toContain("test://a");
    expect(podNames(world)).toContain("on-a");
    expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeDefined();
    expect(world.api.find(NODE, "b")?.metadata.deletionTimestamp).toBeUndefined();
    // A later list contains the Node. So it is drained, and then its instance is terminated.
    await world.stop();
    const next = fakeWorld({}, world);
    unseenByMirrors(next, NODE);
    await run(next);
    await next.clock.advance(3 * 60_000);
    expect(podNames(next)).toEqual(["on-b"]);
    expect(machines(next)).toEqual(["test://b"]);
    await next.stop();
  });

  it.each([
    ["is incomplete", () => ({ items: [], resourceVersion: "1000" })],
    [
      "is old",
      (all: { items: readonly Node[] }) => ({
        items: all.items.filter(({ metadata }) => metadata.name === "b"),
        resourceVersion: "1",
      }),
    ],
    [
      "is refused",
      () => {
        throw new KubeError(403, { code: 403, reason: "Forbidden" }, "list nodes");
      },
    ],
    [
      "is not served",
      () => {
        throw new KubeError(404, { code: 404, reason: "NotFound" }, "list nodes");
      },
    ],
  ] as const)("keeps its instance while the list of Nodes %s", async (_, lie) => {
    const world = await worldOf("a");
    unnamed(world);
    await run(world);
    const { list } = world.kube;
    const answered = async (...call: Parameters<typeof list>) => {
      const all = await list(...call);
      return call[0] === NODE ? lie(all as never) : all;
    };
    Object.assign(world.kube, { list: answered });
    await world.kube.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(3 * 60_000);
    expect(machines(world)).toEqual(["test://a", "test://b"]);
    expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeUndefined();
    Object.assign(world.kube, { list });
    await world.clock.advance(16 * 60_000);
    expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeDefined();
    await world.stop();
  });

  it("keeps its instance while the list of Nodes lacks one that has pods, and the informer has none", async () => {
    const world = await worldOf("a", "b");
    unnamed(world);
    await run(world);
    const { list } = world.kube;
    Object.assign(world.kube, {
      list: async (...call: Parameters<typeof list>) =>
        call[0] === NODE ? { items: [], resourceVersion: "1000" } : list(...call),
    });
    await world.kube.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(3 * 60_000);
    expect(machines(world)).toEqual(["test://a", "test://b"]);
    await world.stop();
  });
});

describe("a list that lacks the Node of a deleted NodeClaim, which has no pods", () => {
  it("is contradicted by the list from the API server's cache: the instance stays", async () => {
    const world = await worldOf("a");
    unnamed(world);
    world.api.vanish(POD, "default/on-a");
    await run(world);
    const { list } = world.kube;
    Object.assign(world.kube, {
      list: async (...call: Parameters<typeof list>) => {
        const all = await list(...call);
        const isOfCache = call[1]?.resourceVersion === "0";
        if (call[0] !== NODE || isOfCache) return all;
        return { ...all, items: all.items.filter(({ metadata }) => metadata.name !== "a") };
      },
    });
    await world.kube.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(3 * 60_000);
    expect(machines(world)).toEqual(["test://a", "test://b"]);
    Object.assign(world.kube, { list });
    await world.clock.advance(3 * 60_000);
    expect(world.api.find(NODE, "a")?.metadata.deletionTimestamp).toBeDefined();
    await world.stop();
  });
});

describe("a deleted NodeClaim whose Node the informer has", () => {
  it("causes no list of Nodes, because the drained Node is read by name", async () => {
    const world = await worldOf();
    await run(world);
    const { list } = world.kube;
    let lists = 0;
    Object.assign(world.kube, {
      list: (...call: Parameters<typeof list>) => {
        if (call[0] === NODE) lists++;
        return list(...call);
      },
    });
    unnamed(world);
    await world.kube.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(3 * 60_000);
    expect([machines(world), podNames(world), lists]).toEqual([["test://b"], ["on-b"], 0]);
    await world.stop();
  });
});

describe("a Node that lost our finalizer", () => {
  it("is drained when its NodeClaim is deleted", async () => {
    const world = await worldOf();
    world.api.change(NODE, "a", { metadata: { finalizers: null } });
    await run(world);
    world.api.guarded.add("default/on-a");
    await world.kube.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(3 * 60_000);
    expect([machines(world), podNames(world)]).toEqual([
      ["test://a", "test://b"],
      ["on-a", "on-b"],
    ]);
    world.api.guarded.clear();
    await world.clock.advance(3 * 60_000);
    expect([machines(world), podNames(world)]).toEqual([["test://b"], ["on-b"]]);
    await world.stop();
  });

  it("is drained when its instance has no NodeClaim", async () => {
    const world = await worldOf();
    world.api.change(NODE, "a", { metadata: { finalizers: null } });
    await run(world);
    world.api.guarded.add("default/on-a");
    world.api.vanish(NODE_CLAIM, "a");
    const instance = ofCluster(await instanceOf(world), "ours");
    expect(await endLeaked(world, instance)).toBe("ended");
    await world.clock.advance(3 * 60_000);
    expect([machines(world), podNames(world)]).toEqual([
      ["test://a", "test://b"],
      ["on-a", "on-b"],
    ]);
    await world.stop();
  });
});

describe("an instance of two Nodes", () => {
  it("stays while its NodeClaim's Node exists, even if the informer lacks that Node", async () => {
    const world = await worldOf("a");
    const twin = world.api.find(NODE, "a") as Node;
    await world.api.create(NODE, {
      ...twin,
      metadata: { ...twin.metadata, name: "before", uid: "before" },
    });
    await run(world);
    await world.kube.delete(NODE, { name: "before" });
    await world.clock.advance(3 * 60_000);
    expect(machines(world)).toContain("test://a");
    expect(podNames(world)).toContain("on-a");
    await world.stop();
  });
});

describe("an instance that came too late", () => {
  it("stays if a Node with its provider ID exists that the informer lacks", async () => {
    const world = await worldOf("a");
    await run(world);
    world.api.vanish(NODE_CLAIM, "a");
    await endLateLaunch(world, { ...claimOf(world), ...(await instanceOf(world)) });
    expect(machines(world)).toContain("test://a");
    await world.stop();
  });
});

async function instanceOf(world: FakeWorld): Promise<NodeClaim> {
  return world.cloud.instances.get("test://a") as NodeClaim;
}
