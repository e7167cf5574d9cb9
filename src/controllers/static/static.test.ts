import { describe, expect, it } from "vitest";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import { KubeError } from "../../kube/errors.ts";
import { nodePool } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { inManyTurns } from "../../testing/slow-clock.ts";
import { allControllers } from "../all.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { staticProvisioning } from "./provisioning.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

const ZONE_B = { key: "topology.kubernetes.io/zone", operator: "In", values: ["zone-b"] };
const LEAVING = { deletionTimestamp: "2026-01-05T08:00:00Z", finalizers: ["example.com/held"] };

async function staticPool(
  spec: { replicas: number; limits?: Record<string, string> },
  staticCapacity = true,
): Promise<FakeWorld> {
  const world = fakeWorld({ gates: { staticCapacity } });
  const conditions = [{ type: "Ready", status: "True" }];
  await world.api.create(FAKE_NODE_CLASS, {
    metadata: { name: "default" },
    status: { conditions },
  } as never);
  await world.api.create(NODE_POOL, nodePool({ spec, template: { nodeClassRef: CLASS_REF } }));
  await world.run(...allControllers(world));
  await world.clock.advance(15_000);
  return world;
}

const claims = (world: FakeWorld) =>
  world.api.all(NODE_CLAIM).filter(({ metadata }) => metadata.deletionTimestamp === undefined);

async function joinAll(world: FakeWorld): Promise<void> {
  for (const claim of claims(world)) await world.join(claim);
  await world.clock.advance(10_000);
}

describe("a static NodePool", () => {
  it.each([
    ["is gone", undefined],
    ["is another one", { uid: "another" }],
    ["is being deleted", { deletionTimestamp: "2026-01-05T08:00:00Z" }],
    ["has fewer replicas", {}],
  ])("gets no NodeClaim while the API server says that it %s", async (_, changed) => {
    const world = await staticPool({ replicas: 0 });
    const { get } = world.kube;
    Object.assign(world.kube, {
      get: async (...call: Parameters<typeof get>) => {
        const live = (await get(...call)) as NodePool;
        if (call[0].kind !== "NodePool") return live;
        if (changed === undefined)
          throw new KubeError(404, { code: 404, reason: "NotFound" }, "getting");
        const metadata = { ...live.metadata, ...changed };
        return { ...live, metadata, spec: { ...live.spec, replicas: 2 } };
      },
    });
    world.api.change(NODE_POOL, "default", { spec: { replicas: 3 } });
    await world.clock.advance(60_000);
    expect(world.cloud.creates).toBe(0);
    Object.assign(world.kube, { get });
    await world.clock.advance(60_000);
    expect(claims(world)).toHaveLength(3);
    await world.stop();
  });

  it("has as many NodeClaims as replicas, after scaling up or down or a deletion", async () => {
    const world = await staticPool({ replicas: 3 });
    expect(claims(world)).toHaveLength(3);
    await joinAll(world);
    await world.clock.advance(20 * 60_000);
    expect(claims(world)).toHaveLength(3);
    world.api.change(NODE_POOL, "default", { spec: { replicas: 5 } });
    await world.clock.advance(5_000);
    expect(claims(world)).toHaveLength(5);
    await world.clock.advance(65_000);
    expect(claims(world)).toHaveLength(5);
    world.api.change(NODE_POOL, "default", { spec: { replicas: 1 } });
    await world.clock.advance(120_000);
    expect(claims(world)).toHaveLength(1);
    await world.api.delete(NODE_CLAIM, { name: claims(world)[0]?.metadata.name ?? "" });
    await world.clock.advance(120_000);
    expect(claims(world)).toHaveLength(1);
    await world.stop();
  });

  it("replaces a node that registers and is never initialized", async () => {
    const world = await staticPool({ replicas: 1 });
    const [first] = claims(world);
    const status = { conditions: [{ type: "Ready", status: "False" }] };
    await world.join(first as NodeClaim, { status });
    await world.clock.advance(29 * 60_000);
    expect(claims(world)).toEqual([
      expect.objectContaining({
        metadata: expect.objectContaining({ name: first?.metadata.name }),
      }),
    ]);
    await world.clock.advance(3 * 60_000);
    expect(claims(world)).toHaveLength(1);
    expect(claims(world)[0]?.metadata.name).not.toBe(first?.metadata.name);
    await joinAll(world);
    await world.clock.advance(60 * 60_000);
    expect(claims(world)).toHaveLength(1);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(1);
    expect(world.cloud.instances.size).toBe(1);
    await world.stop();
  });

  it("creates no NodeClaims above its limit of nodes, and logs that", async () => {
    const world = await staticPool({ replicas: 3, limits: { nodes: "2" } });
    expect(claims(world)).toHaveLength(2);
    expect(world.lines.some((line) => line.includes("nodepool node limit reached"))).toBe(true);
    await world.stop();
  });

  it("gets no NodeClaims while the feature gate is off, and logs that", async () => {
    const world = await staticPool({ replicas: 3 }, false);
    expect(claims(world)).toEqual([]);
    expect(world.lines.some((line) => line.includes("field is accepted but not acted on"))).toBe(
      true,
    );
    await world.stop();
  });
});

describe("a static NodePool that is scaled", () => {
  it("deletes the other NodeClaims when one deletion fails, and that one later", async () => {
    const world = await staticPool({ replicas: 3 });
    await joinAll(world);
    const kube = world.kube as { delete: typeof world.kube.delete };
    const remove = kube.delete;
    let refusals = 0;
    kube.delete = async (kind, ref, options) => {
      if (kind.kind === "NodeClaim" && refusals++ === 0) throw new Error("the server is busy");
      return remove(kind, ref, options);
    };
    world.api.change(NODE_POOL, "default", { spec: { replicas: 1 } });
    await world.clock.advance(120_000);
    expect(refusals).toBeGreaterThan(2);
    expect(claims(world)).toHaveLength(1);
    await world.stop();
  });

  it("deletes a NodeClaim again that stays although the answer showed its deletion", async () => {
    const world = await staticPool({ replicas: 2 });
    await joinAll(world);
    const kube = world.kube as { delete: typeof world.kube.delete };
    const remove = kube.delete;
    let lost = 0;
    kube.delete = async (kind, ref, options) => {
      if (kind.kind !== "NodeClaim" || lost++ > 0) return remove(kind, ref, options);
      const { metadata } = world.api.find(NODE_CLAIM, ref.name) as NodeClaim;
      return { metadata: { ...metadata, ...LEAVING } };
    };
    world.api.change(NODE_POOL, "default", { spec: { replicas: 1 } });
    await world.clock.advance(20_000);
    expect([lost, claims(world).length]).toEqual([1, 2]);
    await world.clock.advance(120_000);
    expect(claims(world)).toHaveLength(1);
    await world.stop();
  });

  it("creates NodeClaims in steps, and none above a replica count lowered meanwhile", async () => {
    for (const replicas of [5, 2]) {
      const world = fakeWorld({ gates: { staticCapacity: true } });
      const { api } = world;
      const made = nodePool({ spec: { replicas: 5 }, template: { nodeClassRef: CLASS_REF } });
      await api.create(NODE_POOL, made);
      const slow = inManyTurns(world, async () => {
        if (replicas !== 5) api.change(NODE_POOL, "default", { spec: { replicas } });
        await world.clock.sleep(10);
      });
      await world.run(stateNodeClaim(world), staticProvisioning(slow.world));
      await world.clock.advance(10_000);
      expect(claims(world)).toHaveLength(replicas);
      // Each of the five claims is created in its own step, so that other work can run in between.
      expect(slow.turns()).toBeGreaterThan(replicas);
      await world.stop();
    }
  });

  it("gets its NodeClaims though its template changes during every planning", async () => {
    const world = fakeWorld({ gates: { staticCapacity: true } });
    const made = nodePool({ spec: { replicas: 3 }, template: { nodeClassRef: CLASS_REF } });
    await world.api.create(NODE_POOL, made);
    let edits = 0;
    const edit = async () => {
      const labels = { edit: `${++edits}` };
      world.api.change(NODE_POOL, "default", { spec: { template: { metadata: { labels } } } });
      await world.clock.sleep(10);
    };
    const slow = inManyTurns(world, edit, "inEach");
    await world.run(stateNodeClaim(world), staticProvisioning(slow.world));
    await world.clock.advance(10_000);
    expect(claims(world)).toHaveLength(3);
    const planned = claims(world).map(({ metadata }) => Number(metadata.labels?.["edit"]));
    expect(Math.min(...planned)).toBeGreaterThan(0);
    expect(Math.max(...planned)).toBeLessThan(edits);
    await world.stop();
  });

  it.each<[string, object, number]>([
    ["given a lower limit of nodes", { spec: { limits: { nodes: "2" } } }, 2],
    ["given another template", { spec: { template: { metadata: { labels: { team: "x" } } } } }, 3],
    [
      "given another zone requirement",
      { spec: { template: { spec: { requirements: [ZONE_B] } } } },
      3,
    ],
    ["not ready", { status: { conditions: [{ type: "Ready", status: "False" }] } }, 0],
    ["being deleted", { metadata: LEAVING }, 0],
  ])("creates no NodeClaims planned before it was %s", async (_, change, count) => {
    const world = fakeWorld({ gates: { staticCapacity: true } });
    const made = nodePool({ spec: { replicas: 3 }, template: { nodeClassRef: CLASS_REF } });
    await world.api.create(NODE_POOL, made);
    const slow = inManyTurns(world, async () => {
      world.api.change(NODE_POOL, "default", change);
      await world.clock.sleep(10);
    });
    await world.run(stateNodeClaim(world), staticProvisioning(slow.world));
    await world.clock.advance(10_000);
    const { template } = (world.api.find(NODE_POOL, "default") as NodePool).spec;
    expect(claims(world)).toHaveLength(count);
    for (const { metadata, spec } of claims(world)) {
      expect(metadata.labels).toMatchObject(template.metadata?.labels ?? {});
      expect(spec.requirements).toEqual(expect.arrayContaining([...template.spec.requirements]));
    }
    await world.stop();
  });
});
