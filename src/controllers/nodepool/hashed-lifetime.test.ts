import { describe, expect, it } from "vitest";
import { toPool } from "../../apis/hub/to-pool.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import { poolDrift } from "../../core/nodeclaim/drifted.ts";
import { nodeClaim, nodePool } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { nodePoolHash } from "./hash.ts";

const HASH = "karpenter.sh/nodepool-hash";
const VERSION = "karpenter.sh/nodepool-hash-version";
const GENERATION = "compatibility.karpenter.sh/generation";
const LIFETIME = "compatibility.karpenter.sh/hashed-expire-after";
const { group, kind } = FAKE_NODE_CLASS;

/** The pool as the API server stores it. `version`: the API version used by its last writer. */
function pool(
  version: "v1" | "v1beta1",
  expireAfter: string,
  { team = "a", annotations = {} }: { team?: string; annotations?: Record<string, string> } = {},
): NodePool {
  const made = nodePool();
  const { spec } = made.spec.template;
  const nodeClassRef = { group, kind, name: "default" };
  const template = {
    metadata: { labels: { team } },
    spec: { ...spec, nodeClassRef, expireAfter },
  };
  return {
    ...made,
    metadata: { ...made.metadata, annotations: { [GENERATION]: version, ...annotations } },
    spec: { ...made.spec, template },
  };
}

/** A claim that was created by a v1beta1 installation, after its conversion to v1. */
const taken = (annotations: Record<string, string>): NodeClaim =>
  nodeClaim({
    labels: { "karpenter.sh/nodepool": "default", team: "a" },
    annotations: { [GENERATION]: "v1beta1", ...annotations },
    expireAfter: "720h",
  });

async function stamped(of: NodePool, claim: NodeClaim): Promise<FakeWorld> {
  const world = fakeWorld();
  await world.api.create(NODE_POOL, of);
  await world.api.create(NODE_CLAIM, claim);
  await world.run(nodePoolHash(world));
  await world.clock.settle();
  return world;
}

const claimOf = (world: FakeWorld): NodeClaim =>
  world.api.all<NodeClaim>(NODE_CLAIM)[0] as NodeClaim;

describe("the hash of a NodePool adopted from a v1beta1 installation", () => {
  const now = toPool(pool("v1beta1", "48h")).hash;
  it.each([
    ["with a hash of another version", { [HASH]: "1", [VERSION]: "v2" }, { [VERSION]: "v2" }],
    [
      "with a hash but without the lifetime annotation",
      { [HASH]: now, [VERSION]: "v3" },
      { [VERSION]: "v3" },
    ],
  ])(
    "S4-05: lets a NodeClaim %s drift by the template, and not by expireAfter",
    async (_, own, annotations) => {
      const world = await stamped(pool("v1beta1", "48h", { annotations }), taken(own));
      const claim = claimOf(world);
      expect(claim.metadata.annotations).toMatchObject({
        [HASH]: now,
        [VERSION]: "v3",
        [LIFETIME]: "48h",
      });
      const drift = (one: NodePool) => poolDrift(claim, toPool(one));
      for (const expireAfter of ["48h", "1h", "720h", "Never"])
        expect(drift(pool("v1beta1", expireAfter))).toBeUndefined();
      expect(drift(pool("v1beta1", "1h", { team: "b" }))).toBe("NodePoolDrifted");
      // After the conversion to v1 the pool has the same template. Only from then on its lifetime is part of the hash.
      expect(drift(pool("v1", "48h"))).toBeUndefined();
      expect(drift(pool("v1", "1h"))).toBe("NodePoolDrifted");
      await world.stop();
    },
  );

  it("keeps the lifetime annotation of old NodeClaims when expireAfter changes, and adds none to new ones", async () => {
    const world = await stamped(pool("v1beta1", "48h"), taken({ [HASH]: now, [VERSION]: "v3" }));
    world.api.change(NODE_POOL, "default", { spec: { template: { spec: { expireAfter: "1h" } } } });
    const made = toPool(pool("v1beta1", "1h")).hash;
    await world.api.create(NODE_CLAIM, {
      ...nodeClaim({ labels: { "karpenter.sh/nodepool": "default" }, expireAfter: "1h" }),
      metadata: {
        name: "new",
        labels: { "karpenter.sh/nodepool": "default" },
        annotations: { [HASH]: made, [VERSION]: "v3" },
      },
    });
    await world.clock.settle();
    const noted = world.api
      .all<NodeClaim>(NODE_CLAIM)
      .map(({ metadata }) => metadata.annotations?.[LIFETIME]);
    expect(noted.toSorted()).toEqual(["48h", undefined]);
    expect(world.api.find(NODE_POOL, "default")?.metadata.annotations?.[HASH]).toBe(made);
    await world.stop();
  });

  it("adds no lifetime annotation to NodeClaims of v1 NodePools", async () => {
    const of = pool("v1", "48h");
    const world = await stamped(of, taken({ [HASH]: toPool(of).hash, [VERSION]: "v3" }));
    expect(claimOf(world).metadata.annotations?.[LIFETIME]).toBeUndefined();
    await world.stop();
  });
});
