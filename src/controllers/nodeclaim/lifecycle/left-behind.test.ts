import { describe, expect, it } from "vitest";
import { NAMESPACE } from "../../../apis/core/kinds.ts";
import { NODE } from "../../../apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { KubeError } from "../../../kube/errors.ts";
import { FAKE_NODE_CLASS, kubeSystem, ofCluster } from "../../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../../testing/fake-world.ts";
import { unseenByMirrors } from "../../../testing/unseen.ts";
import { createRegistrationTracker } from "../../registration-tracker.ts";
import { lifecycle } from "./controller.ts";

const UID = "this-cluster";
const LAUNCHED = { type: "Launched", status: "True" };

/** A claim as a crashed process leaves it: with the finalizer, but not launched. */
function waiting(name: string): NodeClaim {
  return {
    metadata: {
      name,
      finalizers: ["karpenter.sh/termination"],
      labels: { "karpenter.sh/nodepool": "default", "karpenter.test.sh/testnodeclass": "default" },
    },
    spec: {
      requirements: [],
      nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
    },
  } as unknown as NodeClaim;
}

/**
 * A world with instances of a pool that no claim names. `fits`: whether the cloud lets a claim take over an instance.
 */
async function worldWith(
  ids: readonly string[],
  fits: (claim: NodeClaim, id: string) => boolean = () => true,
  clusterUid = UID,
): Promise<FakeWorld & { readonly asked: string[]; lists: number }> {
  const world = Object.assign(fakeWorld(), { asked: [] as string[], lists: 0 });
  await world.api.create(FAKE_NODE_CLASS, {
    metadata: { name: "default" },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  } as never);
  await world.api.create(NAMESPACE, kubeSystem(UID));
  for (const id of ids) {
    const { cloud, clock } = world;
    const one = {
      metadata: {
        name: "",
        creationTimestamp: toRfc3339(clock.now()),
        labels: { "karpenter.sh/nodepool": "default" },
      },
      status: { providerID: id },
    } as unknown as NodeClaim;
    cloud.instances.set(id, ofCluster(one, clusterUid));
  }
  const { list } = world.cloud;
  Object.assign(world.cloud, {
    list: () => {
      world.lists++;
      return list();
    },
    takeOver: async (claim: NodeClaim, id: string) => {
      world.asked.push(id);
      if (!fits(claim, id)) return undefined;
      return { ...claim, status: { ...claim.status, providerID: id } };
    },
  });
  return world;
}

async function run(world: FakeWorld): Promise<void> {
  await world.run(lifecycle(world, createRegistrationTracker()));
  await world.clock.settle();
}

const providerIds = ({ api }: FakeWorld) =>
  Object.fromEntries(
    api.all(NODE_CLAIM).map(({ metadata, status }) => [metadata.name, status?.providerID]),
  );

describe("a NodeClaim that has lost its status", () => {
  const lost = (): NodeClaim => {
    const claim = waiting("a");
    const labels = { ...claim.metadata.labels, "node.kubernetes.io/instance-type": "m5.large" };
    return { ...claim, metadata: { ...claim.metadata, labels } };
  };
  const nodeOf = (world: FakeWorld, owner = world.api.find(NODE_CLAIM, "a")?.metadata.uid) =>
    ({
      metadata: {
        name: "node-a",
        ownerReferences: [
          { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", name: "a", uid: owner },
        ],
      },
      spec: { providerID: "fake:///own" },
    }) as never;

  it("gets back the instance of the Node that names it as its owner, and nothing is launched", async () => {
    const world = await worldWith(["fake:///own"], () => false);
    await world.api.create(NODE_CLAIM, lost());
    await world.api.create(NODE, nodeOf(world));
    await run(world);
    expect(providerIds(world)).toEqual({ a: "fake:///own" });
    await world.stop();
  });

  it("is launched if its Node's instance has ended, or the Node names another claim of its name", async () => {
    for (const [ids, owner] of [
      [[], undefined],
      [["fake:///own"], "another"],
    ] as const) {
      const world = await worldWith(ids, () => false);
      await world.api.create(NODE_CLAIM, lost());
      await world.api.create(NODE, nodeOf(world, owner));
      await run(world);
      expect(providerIds(world)).toEqual({ a: "fake:///a" });
      await world.stop();
    }
  });
});

describe("unlaunched NodeClaims of an earlier process", () => {
  it("adopt the instances that the earlier process launched, one each, instead of a launch", async () => {
    const world = await worldWith(["fake:///1", "fake:///2"]);
    for (const name of ["a", "b", "c"]) await world.api.create(NODE_CLAIM, waiting(name));
    await run(world);
    expect(Object.values(providerIds(world)).sort()).toEqual([
      "fake:///1",
      "fake:///2",
      "fake:///c",
    ]);
    expect(world.cloud.creates).toBe(1);
    expect(world.lists).toBe(1);
    await world.stop();
  });

  it("adopt only instances that the cloud accepts for them", async () => {
    const world = await worldWith(["fake:///1", "fake:///2"], (claim, id) =>
      id.endsWith(claim.metadata.name === "a" ? "2" : "1"),
    );
    for (const name of ["a", "b"]) await world.api.create(NODE_CLAIM, waiting(name));
    await run(world);
    expect(providerIds(world)).toEqual({ a: "fake:///2", b: "fake:///1" });
    await world.stop();
  });

  it("are launched if the instances belong to another cluster", async () => {
    const world = await worldWith(["fake:///1"], () => true, "another-cluster");
    await world.api.create(NODE_CLAIM, waiting("a"));
    await run(world);
    expect(world.asked).toEqual([]);
    expect(providerIds(world)).toEqual({ a: "fake:///a" });
    await world.stop();
  });

  it("do not adopt the instance of a NodeClaim or Node that the informer lacks", async () => {
    const world = await worldWith(["fake:///1"]);
    await world.api.create(NODE_CLAIM, waiting("a"));
    await world.api.create(NODE_CLAIM, waiting("b"));
    world.api.change(NODE_CLAIM, "b", { status: { providerID: "fake:///1" } });
    unseenByMirrors(world, NODE_CLAIM, "b");
    await run(world);
    expect(world.asked).toEqual([]);
    world.api.vanish(NODE_CLAIM, "b");
    await world.stop();
    // The claim is gone. The Node's owner reference says to which claim it belonged.
    const next = Object.assign(fakeWorld({}, world), { asked: world.asked, lists: 0 });
    const owner = { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", name: "b", uid: "b" };
    const joined = { metadata: { name: "n", ownerReferences: [owner] } };
    await next.api.create(NODE, { ...joined, spec: { providerID: "fake:///1" } } as never);
    unseenByMirrors(next, NODE, "n");
    next.api.vanish(NODE_CLAIM, "a");
    await next.api.create(NODE_CLAIM, waiting("c"));
    await run(next);
    expect(next.asked).toEqual([]);
    await next.stop();
  });

  it.each([
    ["has a provider ID for them", { status: { providerID: "fake:///1" } }],
    ["has their Launched condition True", { status: { conditions: [LAUNCHED] } }],
    ["has another NodeClaim of their name", { metadata: { uid: "another" } }],
    ["has none of their name", undefined],
  ])("are not launched from an outdated watch, while the API server %s", async (_, live) => {
    const world = await worldWith([]);
    await world.api.create(NODE_CLAIM, waiting("a"));
    const { get } = world.kube;
    const answered: typeof get = async (kind, ref) => {
      const stored = await get(kind, ref);
      if (stored.metadata.name !== "a") return stored;
      if (live === undefined)
        throw new KubeError(404, { code: 404, reason: "NotFound", details: { name: "a" } }, "get");
      const metadata = { ...stored.metadata, ...("metadata" in live ? live.metadata : {}) };
      return { ...stored, ...live, metadata };
    };
    Object.assign(world.kube, { get: answered });
    await run(world);
    await world.clock.advance(3 * 60_000);
    expect(world.cloud.creates).toBe(0);
    Object.assign(world.kube, { get });
    await world.clock.advance(60_000);
    expect(providerIds(world)).toEqual({ a: "fake:///a" });
    await world.stop();
  });

  it("are Launched without a launch if they have a provider ID, even without conditions", async () => {
    const world = await worldWith([]);
    await world.api.create(NODE_CLAIM, waiting("a"));
    world.api.change(NODE_CLAIM, "a", { status: { providerID: "fake:///1" } });
    await run(world);
    const [claim] = world.api.all(NODE_CLAIM);
    expect(claim?.status?.conditions).toContainEqual(expect.objectContaining(LAUNCHED));
    expect(world.cloud.creates).toBe(0);
    await world.stop();
  });

  it("are not launched while the cloud cannot list instances", async () => {
    const world = await worldWith(["fake:///1"]);
    const { list } = world.cloud;
    Object.assign(world.cloud, { list: () => Promise.reject(new Error("throttled")) });
    await world.api.create(NODE_CLAIM, waiting("a"));
    await run(world);
    expect(world.cloud.creates).toBe(0);
    Object.assign(world.cloud, { list });
    await world.clock.advance(60_000);
    expect(providerIds(world)).toEqual({ a: "fake:///1" });
    await world.stop();
  });
});

describe("a NodeClaim created after the process started", () => {
  it("is launched without listing instances", async () => {
    const world = await worldWith(["fake:///1"]);
    await run(world);
    const { metadata, spec } = waiting("a");
    await world.api.create(NODE_CLAIM, { metadata: { ...metadata, finalizers: [] }, spec });
    await world.clock.settle();
    expect(providerIds(world)).toEqual({ a: "fake:///a" });
    expect({ lists: world.lists, asked: world.asked }).toEqual({ lists: 0, asked: [] });
    await world.stop();
  });
});
