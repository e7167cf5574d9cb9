import { describe, expect, it } from "vitest";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { nodePool } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { Backoff } from "./backoff.ts";

const MINUTE = 60_000;

describe("the back-off of a NodePool whose replacements fail", () => {
  it("doubles with each failed command, up to ten minutes, and is reset by a successful one", () => {
    const backoff = new Backoff();
    const waits = Array.from({ length: 6 }, () => {
      backoff.failed(["pool"], 0);
      return backoff.pools(0).get("pool");
    });
    expect(waits).toEqual([1, 2, 4, 8, 10, 10].map((minutes) => minutes * MINUTE));
    expect(backoff.pools(10 * MINUTE - 1)).toEqual(new Map([["pool", 10 * MINUTE]]));
    expect(backoff.pools(10 * MINUTE)).toEqual(new Map());
    backoff.succeeded(["pool"]);
    backoff.failed(["pool"], 0);
    expect(backoff.pools(0)).toEqual(new Map([["pool", MINUTE]]));
  });

  it("counts a failed command once, even if several of its replacements failed", () => {
    const backoff = new Backoff();
    backoff.failed(["pool", "pool", "other"], 0);
    expect([...backoff.pools(0).values()]).toEqual([MINUTE, MINUTE]);
    backoff.waitFrom(["pool", "pool"], MINUTE);
    expect(backoff.pools(MINUTE)).toEqual(new Map([["pool", 2 * MINUTE]]));
    backoff.failed(["pool"], MINUTE);
    expect(backoff.pools(MINUTE)).toEqual(new Map([["pool", 3 * MINUTE]]));
  });

  it("ends when a replacement succeeds, even if a failed command is still being rolled back", () => {
    const backoff = new Backoff();
    backoff.failed(["pool"], 0);
    backoff.succeeded(["pool"]);
    backoff.waitFrom(["pool"], MINUTE);
    expect(backoff.pools(MINUTE)).toEqual(new Map());
  });

  it("ends at a whole second, as published", () => {
    const backoff = new Backoff();
    backoff.failed(["pool"], 1);
    expect(backoff.pools(MINUTE + 999)).toEqual(new Map([["pool", MINUTE + 1_000]]));
  });

  it("survives a restart in an annotation of the NodePool, which is removed after a success", async () => {
    const world = await withPool();
    const before = new Backoff();
    const nowMs = world.clock.now();
    before.failed(["nodepool/default"], nowMs);
    await before.write(world, world.log);
    await world.clock.settle();
    const after = new Backoff();
    after.learn(world);
    expect(after.pools(nowMs)).toEqual(before.pools(nowMs));
    expect(after.pools(nowMs).size).toBe(1);
    after.failed(["nodepool/default"], nowMs);
    expect((after.pools(nowMs).get("nodepool/default") ?? 0) - nowMs).toBe(2 * MINUTE);
    after.succeeded(["nodepool/default"]);
    await after.write(world, world.log);
    expect(annotationsOf(world)).toEqual({});
    await world.stop();
  });

  it("ends when its NodePool is deleted, or deleted and created again", async () => {
    const world = await withPool();
    const backoff = await failedTwice(world);
    await world.api.delete(NODE_POOL, { name: "default" });
    await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef } }));
    await world.clock.settle();
    await backoff.write(world, world.log);
    expect(backoff.pools(world.clock.now())).toEqual(new Map());
    expect(annotationsOf(world)).toEqual({});

    const again = await failedTwice(world);
    await world.api.delete(NODE_POOL, { name: "default" });
    await world.clock.settle();
    await again.write(world, world.log);
    expect(again.pools(world.clock.now())).toEqual(new Map());
    await world.stop();
  });

  it("is reset an hour after its end, and its annotation removed, also by the next process", async () => {
    const world = await withPool();
    const backoff = await failedTwice(world);
    await world.clock.advance(61 * MINUTE);
    await backoff.write(world, world.log);
    expect(annotationsOf(world)).not.toEqual({});
    await world.clock.advance(MINUTE);
    const next = new Backoff();
    next.learn(world);
    for (const one of [backoff, next]) {
      one.failed(["nodepool/default"], world.clock.now());
      expect([...one.pools(world.clock.now()).values()]).toEqual([world.clock.now() + MINUTE]);
    }
    await world.clock.advance(62 * MINUTE);
    await backoff.write(world, world.log);
    expect(annotationsOf(world)).toEqual({});
    await world.stop();
  });

  it("ends when a user removes its annotation, unless the failure is newer than the annotation", async () => {
    const world = await withPool();
    const waits = (one: Backoff) => one.pools(world.clock.now()).size;
    const backoff = await failedTwice(world);
    await backoff.write(world, world.log);
    expect(waits(backoff)).toBe(1);
    const takenOff = { metadata: { annotations: { "karpenter.sh/replacements-failed": null } } };
    world.api.change(NODE_POOL, "default", takenOff as never);
    await world.clock.settle();
    // A process that knows of a newer failure ignores the older one recorded on the pool.
    const busy = new Backoff();
    busy.failed(["nodepool/default"], world.clock.now());
    await busy.write(world, world.log);
    await busy.write(world, world.log);
    expect(waits(busy)).toBe(1);
    world.api.change(NODE_POOL, "default", takenOff as never);
    await world.clock.settle();
    await backoff.write(world, world.log);
    expect([waits(backoff), annotationsOf(world)]).toEqual([0, {}]);
    backoff.failed(["nodepool/default"], world.clock.now());
    expect([...backoff.pools(world.clock.now()).values()]).toEqual([world.clock.now() + MINUTE]);
    await world.stop();
  });

  it("is not read from malformed annotations, nor for longer than it can last", async () => {
    const world = await withPool();
    const key = "karpenter.sh/replacements-failed";
    const found = async (text: string) => {
      world.api.change(NODE_POOL, "default", { metadata: { annotations: { [key]: text } } });
      await world.clock.settle();
      const backoff = new Backoff();
      backoff.learn(world);
      return [...backoff.pools(world.clock.now()).values()].map((ms) => ms - world.clock.now());
    };
    for (const text of ["", "{", "null", '{"failures":0,"until":"2099-01-01T00:00:00Z"}'])
      expect(await found(text)).toEqual([]);
    expect(await found('{"failures":2,"until":"2099-01-01T00:00:00Z"}')).toEqual([2 * MINUTE]);
    await world.stop();
  });
});

const nodeClassRef = {
  group: FAKE_NODE_CLASS.group,
  kind: FAKE_NODE_CLASS.kind,
  name: "default",
};

async function withPool(): Promise<FakeWorld> {
  const world = fakeWorld();
  await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef } }));
  await world.run();
  return world;
}

/** The back-offs of a process in which pool `default` failed twice. Its back-off is two minutes. */
async function failedTwice(world: FakeWorld): Promise<Backoff> {
  const backoff = new Backoff();
  for (let times = 0; times < 2; times++) backoff.failed(["nodepool/default"], world.clock.now());
  await backoff.write(world, world.log);
  await world.clock.settle();
  await backoff.write(world, world.log);
  expect(annotationsOf(world)).not.toEqual({});
  return backoff;
}

const annotationsOf = (world: FakeWorld) =>
  world.api.find(NODE_POOL, "default")?.metadata.annotations ?? {};
