// Which claims of a plan are created if other work runs between the requests.
import { describe, expect, it } from "vitest";
import type { Pool } from "../../apis/hub/pool.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { atOnce } from "../../base/steps.ts";
import { planStaticNodes } from "../../core/provisioning/static-nodes.ts";
import { KubeError } from "../../kube/errors.ts";
import { nodePool } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { inManyTurns } from "../../testing/slow-clock.ts";
import { poolById } from "../pools.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { createClaims } from "./create-claims.ts";
import { poolInput, schedulingInput } from "./gather.ts";

const NOT_FOUND = { code: 404, reason: "NotFound", details: { name: "default" } };
const NODE_CLASS = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

/** Creates a pool, and a plan for three nodes of it. */
async function threePlanned(beforeAnswer: (name: string) => Promise<void> = async () => undefined) {
  const world = fakeWorld();
  await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef: NODE_CLASS } }));
  await world.run(stateNodeClaim(world));
  const pool = poolById(world, "nodepool/default")?.pool as Pool;
  const input = await poolInput(world, pool, world.log);
  if (typeof input === "string") throw new Error(input);
  const { newClaims: plans } = atOnce(
    planStaticNodes(schedulingInput(world, [], [input]), input, 3),
  );
  const create = async (between: () => unknown = () => undefined) => {
    const slow = inManyTurns(world, between);
    const answering: typeof world.kube.create = async (kind, object) => {
      const made = await world.kube.create(kind, object);
      await beforeAnswer(made.metadata.name);
      return made;
    };
    const kube = { ...world.kube, create: answering };
    const created = await createClaims({ ...slow.world, kube }, world.log, plans, "test");
    expect(slow.turns()).toBe(3);
    return created.map((one) => (one instanceof Error ? one.message : "created"));
  };
  return { world, create };
}

/** Replaces the API server's answers to reads of pools, until `restore` is called. */
function answerLive(
  world: FakeWorld,
  answer: (get: () => Promise<KubeObject>) => Promise<unknown>,
): { readonly reads: () => number; readonly restore: () => void } {
  const { get } = world.kube;
  let reads = 0;
  const answered: unknown = (...call: Parameters<typeof get>) => {
    reads++;
    return answer(() => get(...call));
  };
  Object.assign(world.kube, { get: answered });
  return { reads: () => reads, restore: () => void Object.assign(world.kube, { get }) };
}

async function limitTo(world: FakeWorld, nodes: string): Promise<void> {
  world.api.change(NODE_POOL, "default", { spec: { limits: { nodes } } });
  await world.clock.settle();
}

describe("NodeClaims of one plan", () => {
  it("do not count against each other in NodePool limits, in however many steps they are created", async () => {
    const { world, create } = await threePlanned();
    await limitTo(world, "1");
    expect(await create()).toEqual(["created", "created", "created"]);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(3);
    const why = "nodes resource usage of 3 exceeds limit of 1";
    expect(await create()).toEqual([why, why, why]);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(3);
    await world.stop();
  });

  it("are not awaited if they were deleted before the response to their creation", async () => {
    const { world, create } = await threePlanned(async (made) => {
      world.api.vanish(NODE_CLAIM, made);
      await world.clock.settle();
    });
    expect(await create()).toEqual(["created", "created", "created"]);
    expect(world.cluster.unlaunched()).toEqual([]);
    expect(world.cluster.synced).toBe(true);
    await world.stop();
  });

  it.each([
    ["is gone", undefined, "the API server has no nodepool/default, or another one than we know"],
    ["is another one", { metadata: { uid: "another" } }, "or another one than we know"],
    ["is being deleted", { metadata: { deletionTimestamp: "2026-01-05T08:00:00Z" } }, "has no"],
    ["is not served", "down", "cannot read nodepool/default before a node is created: down"],
  ])("are not created while the API server says that their NodePool %s", async (_, live, why) => {
    const { world, create } = await threePlanned();
    const { reads, restore } = answerLive(world, async (get) => {
      if (live === undefined) throw new KubeError(404, NOT_FOUND, "getting");
      if (typeof live === "string") throw new Error(live);
      const stored = await get();
      return { ...stored, metadata: { ...stored.metadata, ...live.metadata } };
    });
    const said = await create();
    expect(said).toHaveLength(3);
    for (const one of said) expect(one).toContain(why);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(0);
    expect(reads()).toBe(1);
    restore();
    expect(await create()).toEqual(["created", "created", "created"]);
    await world.stop();
  });

  it("keep the NodePool limits that the API server has, not those of the informer", async () => {
    const { world, create } = await threePlanned();
    expect(await create()).toEqual(["created", "created", "created"]);
    answerLive(world, async (get) => ({ ...(await get()), spec: { limits: { nodes: "2" } } }));
    const why = "nodes resource usage of 3 exceeds limit of 2";
    expect(await create()).toEqual([why, why, why]);
    await world.stop();
  });

  it("are not created once their NodePool is gone", async () => {
    const { world, create } = await threePlanned();
    const drop = async () => {
      world.api.vanish(NODE_POOL, "default");
      await world.clock.settle();
    };
    expect(await create(drop)).toEqual(Array.from({ length: 3 }, () => "nodepool/default is gone"));
    await world.stop();
  });
});
