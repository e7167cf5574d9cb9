/** Deletions whose reason is in the mirror but is not confirmed by the API server. None of them may happen. */
import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { InsufficientCapacityError } from "../../core/cloudprovider/errors.ts";
import { nodeClaim, nodePool } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";
import { discardReplacement } from "../disruption/roll-back.ts";

const MINUTE_MS = 60_000;
const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
const CLAIM = {
  metadata: { name: "a", labels: { "karpenter.test.sh/testnodeclass": "default" } },
  spec: { requirements: [], nodeClassRef: CLASS_REF },
} as unknown as NodeClaim;

/**
 * Makes reads of this kind from the API server return `live`, whatever the mirror has. Returns a function that undoes
 * this.
 */
function readAs<T extends KubeObject>(
  world: FakeWorld,
  kind: Kind<T>,
  live: (object: T) => object,
): () => void {
  const { get } = world.kube;
  const other = async (...[asked, ref]: Parameters<typeof get>) => {
    const object = await get(asked, ref);
    return asked.plural === kind.plural ? live(object as unknown as T) : object;
  };
  Object.assign(world.kube, { get: other });
  return () => {
    Object.assign(world.kube, { get });
  };
}

const left = (world: FakeWorld) =>
  world.api.all(NODE_CLAIM).filter(({ metadata }) => metadata.deletionTimestamp === undefined);

describe("a live read just before a deletion", () => {
  it("keeps the nodes of a static pool whose replicas have not changed", async () => {
    const world = fakeWorld({ gates: { staticCapacity: true } });
    await world.api.create(FAKE_NODE_CLASS, {
      metadata: { name: "default" },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    } as never);
    const template = { nodeClassRef: CLASS_REF };
    await world.api.create(NODE_POOL, nodePool({ spec: { replicas: 3 }, template }));
    await world.run(...allControllers(world));
    await world.clock.advance(15_000);
    for (const claim of left(world)) await world.join(claim);
    await world.clock.advance(10_000);
    const mend = readAs(world, NODE_POOL, (pool) => ({
      ...pool,
      spec: { ...pool.spec, replicas: 3 },
    }));
    world.api.change(NODE_POOL, "default", { spec: { replicas: 1 } });
    await world.clock.advance(2 * MINUTE_MS);
    expect(left(world)).toHaveLength(3);
    mend();
    await world.clock.advance(2 * MINUTE_MS);
    expect(left(world)).toHaveLength(1);
    await world.stop();
  });

  it("keeps a node that has recovered, also while its NodeClaim is being deleted", async () => {
    for (const isLeaving of [false, true]) {
      const world = fakeWorld({ gates: { nodeRepair: true, legacyNodeRepair: true } });
      world.cloud.endsAfter = 60 * MINUTE_MS;
      world.cloud.repairPolicies = [
        {
          conditionType: "Ready",
          tolerationMs: 10 * MINUTE_MS,
          conditionStatus: "Unknown",
          priority: 0,
          action: "ReplaceNode",
        },
      ];
      await world.run(...allControllers(world));
      await world.api.create(NODE_CLAIM, CLAIM);
      await world.clock.settle();
      await world.join(world.api.find(NODE_CLAIM, "a") as NodeClaim);
      await world.clock.settle();
      const conditions = (status: string) => [
        { type: "Ready", status, lastTransitionTime: toRfc3339(world.clock.now()) },
      ];
      const well = conditions("True");
      const mend = readAs(world, NODE, (node: Node) => ({ ...node, status: { conditions: well } }));
      world.api.change(NODE, "node-a", { status: { conditions: conditions("Unknown") } });
      if (isLeaving) await world.api.delete(NODE_CLAIM, { name: "a" });
      await world.clock.advance(15 * MINUTE_MS);
      const deadline = () =>
        world.api.find(NODE_CLAIM, "a")?.metadata.annotations?.[
          "karpenter.sh/nodeclaim-termination-timestamp"
        ];
      expect([left(world).length, deadline()]).toEqual([isLeaving ? 0 : 1, undefined]);
      mend();
      await world.clock.advance(2 * MINUTE_MS);
      expect(deadline()).toBeDefined();
      await world.stop();
    }
  });

  it("keeps a NodeClaim to which another process gave an instance, even if its launch failed here", async () => {
    const world = fakeWorld();
    const { create } = world.cloud;
    Object.assign(world.cloud, {
      create: async () => {
        throw new InsufficientCapacityError("none left");
      },
    });
    const mend = readAs(world, NODE_CLAIM, (claim: NodeClaim) => ({
      ...claim,
      status: { ...claim.status, providerID: "test://another-launched-it" },
    }));
    await world.run(...allControllers(world));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.advance(2 * MINUTE_MS);
    expect(left(world)).toHaveLength(1);
    mend();
    await world.clock.advance(2 * MINUTE_MS);
    expect(left(world)).toHaveLength(0);
    Object.assign(world.cloud, { create });
    await world.stop();
  });

  it("keeps a replacement whose Node has joined, even if its command was rolled back", async () => {
    const world = fakeWorld();
    const claim = await world.api.create(NODE_CLAIM, nodeClaim({ name: "a" }));
    await world.run();
    const mend = readAs(world, NODE_CLAIM, (live: NodeClaim) => ({
      ...live,
      status: { conditions: [{ type: "Registered", status: "True" }] },
    }));
    await discardReplacement(world, claim);
    expect(left(world)).toHaveLength(1);
    mend();
    await discardReplacement(world, claim);
    expect(left(world)).toHaveLength(0);
    await world.stop();
  });
});
