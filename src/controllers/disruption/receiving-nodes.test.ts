import { expect, it } from "vitest";
import { POD } from "../../apis/core/pod.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { StandingProblems } from "../../base/standing-problems.ts";
import type { Command } from "../../core/disruption/command.ts";
import { pod } from "../../testing/builders.ts";
import { candidate } from "../../testing/disruption.ts";
import { establish } from "../../testing/established.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { unseenByMirrors } from "../../testing/unseen.ts";
import { doubtIfLost } from "../ending/live-reads.ts";
import { isHeldByPods } from "./receiving-nodes.ts";

/** A world with a node b that has two pods. `unseen`: pods that the mirror lacks. */
async function worldOf(...unseen: readonly string[]): Promise<FakeWorld> {
  const world = fakeWorld();
  await establish(world, "b", 60 * 60_000);
  const creationTimestamp = toRfc3339(world.clock.now());
  for (const name of ["one", "two"]) {
    const made = pod({ name, nodeName: "b" });
    await world.api.create(POD, { ...made, metadata: { ...made.metadata, creationTimestamp } });
  }
  unseenByMirrors(world, POD, ...unseen);
  await world.run();
  return world;
}

/** Checks twice whether a command that moves pods to b must wait. Returns both results and the published messages. */
async function ask(world: FakeWorld) {
  const command = { candidates: [candidate("a")], targets: ["b"] } as unknown as Command;
  const problems = new StandingProblems(world.log, world.clock);
  const held = [];
  for (let times = 0; times < 2; times++) held.push(await isHeldByPods(world, command, problems));
  const events = world.published.filter(({ reason }) => reason === "EndHeld");
  return { held, told: [...new Set(events.map(({ message }) => message))] };
}

it("does not hold a command if the informer has all pods of its receiving nodes", async () => {
  expect(await ask(await worldOf())).toEqual({ held: [false, false], told: [] });
});

it("holds a command if a receiving node has a pod that the informer lacks", async () => {
  const { held, told } = await ask(await worldOf("two"));
  expect(held).toEqual([true, true]);
  expect(told).toEqual([expect.stringContaining("it does not count default/two on Node b")]);
});

it("holds a command if the informer has a pod of an emptied node as being deleted, which it is not", async () => {
  const world = await worldOf();
  const { list } = world.kube;
  const alive = await list(POD, {});
  const metadata = { deletionTimestamp: toRfc3339(world.clock.now()) };
  world.api.change(POD, "default/two", { metadata });
  await world.clock.settle();
  const resourceVersion = "99999";
  Object.assign(world.kube, { list: async () => ({ ...alive, resourceVersion }) });
  const one = candidate("b");
  const emptied = { ...one, reschedulablePods: [pod({ name: "one", nodeName: "b" })] };
  const command = { candidates: [emptied], targets: [] } as unknown as Command;
  const problems = new StandingProblems(world.log, world.clock);
  expect(await isHeldByPods(world, command, problems)).toBe(true);
  expect(await isHeldByPods(world, { ...command, candidates: [one] }, problems)).toBe(false);
});

it("has the informer's copy compared soon if it lacks a pod that is not new", async () => {
  const world = await worldOf("two");
  const doubted: string[] = [];
  Object.assign(world.mirrors, { doubt: ({ kind }: { kind: string }) => doubted.push(kind) });
  await ask(world);
  expect(doubted).toEqual([]);
  await world.clock.advance(61_000);
  await ask(world);
  expect(new Set(doubted)).toEqual(new Set(["Pod"]));
});

it("has the informer's copy not compared for old pods that it has", async () => {
  const world = await worldOf();
  const doubted: string[] = [];
  Object.assign(world.mirrors, { doubt: ({ kind }: { kind: string }) => doubted.push(kind) });
  await world.clock.advance(61_000);
  doubtIfLost(world, world.api.all(POD));
  expect(doubted).toEqual([]);
});

it("holds a command if the list of its receiving nodes' pods is old or fails", async () => {
  const world = await worldOf();
  const { list } = world.kube;
  for (const lie of [
    async () => ({ items: [], resourceVersion: "1" }),
    () => Promise.reject(new Error("forbidden")),
  ]) {
    Object.assign(world.kube, { list: lie });
    expect(await ask(world)).toEqual({ held: [true, true], told: [] });
  }
  expect(world.lines.join("\n")).toContain(
    "cannot list the pods of the nodes that take pods or are emptied",
  );
  Object.assign(world.kube, { list });
  expect((await ask(world)).held).toEqual([false, false]);
});
