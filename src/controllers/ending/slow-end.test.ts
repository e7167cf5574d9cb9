import { expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { defineNodeClaims, type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const MINUTE_MS = 60_000;

/** A world with a claim whose cloud accepts each termination but terminates nothing. `asks`: the times of the calls. */
async function stuck(options: { joins: boolean }): Promise<{ world: FakeWorld; asks: number[] }> {
  const world = fakeWorld();
  await world.run(...allControllers(world));
  await world.api.create(NODE_CLAIM, {
    metadata: { name: "a", labels: { "karpenter.test.sh/testnodeclass": "default" } },
    spec: {
      requirements: [],
      nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
    },
  });
  await world.clock.settle();
  if (options.joins) await world.join(world.api.find(NODE_CLAIM, "a") as NodeClaim);
  await world.clock.settle();
  const asks: number[] = [];
  world.cloud.delete = async () => {
    asks.push(world.clock.now());
  };
  return { world, asks };
}

const told = (world: FakeWorld) =>
  world.published.filter(({ reason }) => reason === "InstanceNotTerminated");
const kindsTold = (world: FakeWorld) => [...new Set(told(world).map(({ object }) => object.kind))];

it("an instance not terminated within 15 minutes has events on NodeClaim and Node", async () => {
  const { world, asks } = await stuck({ joins: true });
  await world.api.delete(NODE_CLAIM, { name: "a" });
  await world.clock.advance(14 * MINUTE_MS);
  expect(told(world)).toEqual([]);
  expect(asks.length).toBeGreaterThan(100);
  const early = asks.length;
  await world.clock.advance(62 * MINUTE_MS);
  expect(kindsTold(world).sort()).toEqual(["Node", "NodeClaim"]);
  const [first] = told(world);
  const since = toRfc3339(asks[0] as number);
  expect(first?.message).toContain(`terminate instance fake:///a at ${since}`);
  expect(first).toMatchObject({ type: "Warning", dedupeMs: 60 * MINUTE_MS });
  // A call every five seconds for one minute, then one each minute for an hour.
  expect(asks.length - early).toBeLessThan(80);
  expect(asks.length - early).toBeGreaterThan(60);
  world.cloud.instances.clear();
  world.cloud.delete = async () => {
    throw await world.cloud.get("fake:///a").catch((error) => error);
  };
  await world.clock.advance(2 * MINUTE_MS);
  expect([world.api.all(NODE), world.api.all(NODE_CLAIM)]).toEqual([[], []]);
  await world.stop();
});

it("an instance whose Node never joined has the event on the NodeClaim, also after a restart", async () => {
  const { world, asks } = await stuck({ joins: false });
  await world.api.delete(NODE_CLAIM, { name: "a" });
  await world.clock.advance(10 * MINUTE_MS);
  await world.stop();
  const next = fakeWorld({}, world);
  await next.run(...allControllers(next));
  await next.clock.advance(6 * MINUTE_MS);
  expect(kindsTold(next)).toEqual(["NodeClaim"]);
  expect(told(next)[0]?.message).toContain(` at ${toRfc3339(asks[0] as number)},`);
  await next.stop();
});

it("an instance whose NodeClaim is gone has the event on the Node", async () => {
  const { world } = await stuck({ joins: true });
  await defineNodeClaims(world);
  world.api.vanish(NODE_CLAIM, "a");
  await world.api.delete(NODE, { name: "node-a" });
  await world.clock.advance(14 * MINUTE_MS);
  expect(told(world)).toEqual([]);
  await world.clock.advance(3 * MINUTE_MS);
  expect(kindsTold(world)).toEqual(["Node"]);
  expect(world.api.all(NODE)).toHaveLength(1);
  await world.stop();
});
