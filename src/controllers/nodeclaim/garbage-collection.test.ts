import { describe, expect, it } from "vitest";
import { NAMESPACE } from "../../apis/core/kinds.ts";
import { NODE, type Node } from "../../apis/core/node.ts";
import { claimKind } from "../../apis/hub/claim.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { Kind } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { ListOptions, ObjectRef } from "../../kube/client/client.ts";
import { node, nodeClaim, nodePool } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS, kubeSystem, ofCluster } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { inManyTurns } from "../../testing/slow-clock.ts";
import { claimGarbageCollection, instanceGarbageCollection } from "./garbage-collection.ts";

const MINUTE_MS = 60_000;

describe("an instance without a NodeClaim", () => {
  /**
   * Whether an instance launched a minute ago is terminated, although an older claim with this node class and status
   * exists.
   */
  async function isEnded(
    nodeClassRef: { group: string; kind: string; name: string },
    names?: string,
    launchedMsAgo = MINUTE_MS,
    waitsForMs = 60 * MINUTE_MS,
  ): Promise<boolean> {
    const world = fakeWorld();
    const nowMs = world.clock.now();
    const leaked = nodeClaim({
      name: "",
      metadata: { creationTimestamp: toRfc3339(nowMs - launchedMsAgo) },
      status: { providerID: "fake:///leaked" },
    });
    await world.api.create(NAMESPACE, kubeSystem("this-cluster"));
    world.cloud.instances.set("fake:///leaked", ofCluster(leaked, "this-cluster"));
    const waiting = nodeClaim({
      name: "waiting",
      nodeClassRef,
      metadata: { creationTimestamp: toRfc3339(nowMs - waitsForMs) },
      status: names === undefined ? {} : { providerID: names },
    });
    await world.api.create(NODE_CLAIM, waiting);
    await world.run(instanceGarbageCollection(world));
    await world.clock.advance(MINUTE_MS);
    await world.stop();
    return world.cloud.instances.size === 0;
  }

  const ours = { group: FAKE_NODE_CLASS.group, kind: FAKE_NODE_CLASS.kind, name: "default" };
  const another = { group: "elsewhere.example", kind: "OtherNodeClass", name: "default" };

  it("is kept while an unlaunched NodeClaim of the same provider may get it", async () => {
    expect(await isEnded(ours)).toBe(false);
    expect(await isEnded(another)).toBe(true);
    expect(await isEnded(another, "fake:///leaked")).toBe(false);
  });

  it("is kept for an unlaunched NodeClaim also if the cloud's clock is hours behind", async () => {
    expect(await isEnded(ours, undefined, 5 * 60 * MINUTE_MS, 1_000)).toBe(false);
    expect(await isEnded(another, undefined, 5 * 60 * MINUTE_MS, 1_000)).toBe(true);
  });
});

describe("leaked instances that the cloud does not terminate although it accepts the request", () => {
  it("do not count for the brake, and their NodePool gets InstanceNotTerminated events", async () => {
    const world = fakeWorld();
    const leak = (id: string) => {
      const metadata = { creationTimestamp: toRfc3339(world.clock.now() - MINUTE_MS) };
      const made = nodeClaim({ name: "", metadata, status: { providerID: `fake:///${id}` } });
      world.cloud.instances.set(`fake:///${id}`, ofCluster(made, "this-cluster"));
    };
    await world.api.create(NAMESPACE, kubeSystem("this-cluster"));
    await world.api.create(NODE_POOL, nodePool());
    const end = world.cloud.delete;
    world.cloud.delete = async (claim) => {
      if (claim.status?.providerID !== "fake:///later") return;
      return end(claim);
    };
    await world.run(instanceGarbageCollection(world));
    for (const id of ["a", "b", "c", "d", "e"]) leak(id);
    await world.clock.advance(30 * MINUTE_MS);
    expect(world.brake.isOn(world.clock.elapsedMs())).toBe(false);
    expect(world.cloud.instances.size).toBe(5);
    leak("later");
    await world.clock.advance(10 * MINUTE_MS);
    expect([...world.cloud.instances.keys()]).not.toContain("fake:///later");
    const told = world.published.filter(({ reason }) => reason === "InstanceNotTerminated");
    expect(new Set(told.map(({ object }) => object.metadata.name))).toEqual(new Set(["default"]));
    expect(new Set(told.map(({ dedupeValues }) => dedupeValues?.at(-1))).size).toBe(5);
  });
});

describe("a sweep of a large cluster", () => {
  const { group, kind } = FAKE_NODE_CLASS;
  const nodeClassRef = { group, kind, name: "default" };
  const conditions = [{ type: "Registered", status: "True" as const, reason: "Registered" }];

  /** A registered claim whose instance is gone. */
  const lost = (uid = "uid-a") => {
    const status = { providerID: "fake:///a", conditions };
    const made = nodeClaim({ name: "a", nodeClassRef, status });
    return { ...made, metadata: { ...made.metadata, uid } };
  };

  async function swept(between: (world: FakeWorld) => unknown): Promise<boolean> {
    const world = fakeWorld();
    await world.api.create(NODE_CLAIM, lost());
    const { get } = world.cloud;
    // Changes the world during the last request before the deletion.
    world.cloud.get = async (id) => {
      await between(world);
      await world.clock.sleep(10);
      return get(id);
    };
    const slow = inManyTurns(world, () => undefined);
    await world.run(claimGarbageCollection(slow.world));
    await world.clock.advance(1_000);
    await world.stop();
    expect(slow.turns()).toBeGreaterThan(1);
    return world.api.journal.includes("delete nodeclaims/a");
  }

  it("takes turns, and deletes no claim that has become another or whose Node is Ready by then", async () => {
    expect(await swept(() => undefined)).toBe(true);
    const replaced = async ({ api }: FakeWorld) => {
      api.vanish(claimKind(lost()), "a");
      await api.create(NODE_CLAIM, lost("another"));
    };
    expect(await swept(replaced)).toBe(false);
    expect(await swept(({ api }) => api.vanish(claimKind(lost()), "a"))).toBe(false);
    const joins = ({ api }: FakeWorld) =>
      api.create(NODE, node({ name: "a", providerId: "fake:///a" }));
    expect(await swept(joins)).toBe(false);
  });

  it("deletes no NodeClaim whose Node is Ready and which the informer lacks", async () => {
    const unseen = node({ name: "n", providerId: "fake:///a" });
    const deletes = async (found: Partial<Record<"get" | "list", Node>>, nodeName = "n") => {
      const world = fakeWorld();
      const { kube } = world;
      const { status, ...claim } = lost();
      await world.api.create(NODE_CLAIM, { ...claim, status: { ...status, nodeName } });
      const of = (one: Node | undefined) => (one === undefined ? [] : [one]);
      const get = async (kind: Kind, ref: ObjectRef) =>
        kind === NODE && found.get !== undefined ? found.get : kube.get(kind, ref);
      const list = async (kind: Kind, options: ListOptions) =>
        kind === NODE ? { items: of(found.list), resourceVersion: "1" } : kube.list(kind, options);
      await world.run(claimGarbageCollection({ ...world, kube: { ...kube, get, list } as never }));
      await world.clock.advance(1_000);
      await world.stop();
      return world.api.journal.includes("delete nodeclaims/a");
    };
    expect(await deletes({ list: unseen })).toBe(false);
    expect(await deletes({ get: unseen })).toBe(false);
    expect(await deletes({ get: unseen }, "")).toBe(true);
    expect(await deletes({ get: node({ name: "n", providerId: "fake:///other" }) })).toBe(true);
  });

  it("ends no instance whose NodeClaim appears during the sweep", async () => {
    for (const isNamed of [true, false]) {
      const world = fakeWorld();
      const creationTimestamp = toRfc3339(world.clock.now() - MINUTE_MS);
      const status = { providerID: "fake:///a" };
      const leaked = nodeClaim({ name: "", metadata: { creationTimestamp }, status });
      await world.api.create(NAMESPACE, kubeSystem("this-cluster"));
      world.cloud.instances.set("fake:///a", ofCluster(leaked, "this-cluster"));
      const slow = inManyTurns(world, () => isNamed && world.api.create(NODE_CLAIM, lost()));
      await world.run(instanceGarbageCollection(slow.world));
      await world.clock.advance(MINUTE_MS);
      await world.stop();
      expect(world.cloud.instances.size).toBe(isNamed ? 1 : 0);
    }
  });
});
