// Pods of a command move to their planned nodes, one node after the other.
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { OTHERS_FIRST_TAINT_KEY } from "../../apis/karpenter/labels.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { atOnce } from "../../base/steps.ts";
import { evictionOrder } from "../../core/disruption/eviction-order.ts";
import { KubeError } from "../../kube/errors.ts";
import { node, nodeClaim, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { stateNode } from "../state/nodes.ts";
import { statePod } from "../state/pods.ts";
import { createSteering } from "./steering.ts";

const SOFT = { key: OTHERS_FIRST_TAINT_KEY, effect: "PreferNoSchedule" } as const;

const nodeClassRef = { group: FAKE_NODE_CLASS.group, kind: FAKE_NODE_CLASS.kind, name: "default" };

describe("pods that a disruption command moves", () => {
  it("are evicted for one target node after the other, while a soft taint is on the other nodes", async () => {
    const { world, steering, first, second } = await leaving();
    expect([steering.mayLeave(first), steering.mayLeave(second)]).toEqual([true, true]);
    await steering.begin("c", "keepOffOthers");
    expect(putLast(world)).toEqual(["b", "roomy"]);
    expect([steering.mayLeave(first), steering.mayLeave(second)]).toEqual([true, false]);
    expect(steering.mayLeave(pod({ name: "of-nobody" }))).toBe(true);
    await moved(world, first, "a");
    await world.clock.advance(2_000);
    expect(putLast(world)).toEqual(["roomy"]);
    expect(steering.mayLeave(second)).toBe(true);
    expect(steering.hasPlace(second)).toBe(true);
    await moved(world, second, "b");
    await world.clock.advance(2_000);
    expect(putLast(world)).toEqual([]);
    expect(steering.hasPlace(second)).toBe(false);
    await world.stop();
  });

  it("wait for the earlier pod's successor to be bound, for ten seconds at most", async () => {
    const { world, steering, first, second } = await leaving();
    await steering.begin("c", "keepOffOthers");
    await moved(world, first, undefined);
    await world.clock.advance(8_000);
    expect(steering.mayLeave(second)).toBe(false);
    await world.clock.advance(3_000);
    expect(steering.mayLeave(second)).toBe(true);
    await world.clock.advance(11_000);
    expect(putLast(world)).toEqual([]);
    await world.stop();
  });

  it("continue while a NodeClaim is not launched yet", async () => {
    const { world, steering, first, second } = await leaving();
    const unlaunched = { ...nodeClaim({ name: "slow", nodeClassRef }), status: {} };
    await world.api.create(NODE_CLAIM, unlaunched);
    await world.clock.settle();
    expect(world.cluster.synced).toBe(false);
    await steering.begin("c", "keepOffOthers");
    await moved(world, first, "a");
    await world.clock.advance(2_000);
    expect(steering.mayLeave(second)).toBe(true);
    await world.stop();
  });

  it("wait no longer if the clock is set back by an hour", async () => {
    const { world, steering, first, second } = await leaving();
    world.clock.setBack(3_600_000);
    await steering.begin("c", "keepOffOthers");
    await world.clock.advance(600);
    expect(steering.mayLeave(second)).toBe(false);
    await moved(world, first, "a");
    await world.clock.advance(600);
    world.clock.setBack(3_600_000);
    await world.clock.advance(1_400);
    expect(steering.mayLeave(second)).toBe(true);
    world.clock.setBack(3_600_000);
    await world.clock.advance(11_000);
    expect(putLast(world)).toEqual([]);
    await world.stop();
  });

  it("wait at most 90 s, even if tainting fails and the clock is set back by an hour", async () => {
    const { world, steering, second } = await leaving();
    await steering.begin("c", "keepOffOthers");
    let answer: () => void = () => undefined;
    const away = new Promise<never>((_, reject) => {
      answer = () => reject(new KubeError(500, undefined, "away"));
    });
    Object.assign(world.kube, { patch: () => away });
    steering.plan("other", planned("full", pod({ name: "theirs", nodeName: "roomy" })));
    await world.clock.advance(5_000);
    world.clock.setBack(3_600_000);
    await world.clock.advance(85_000);
    expect(steering.mayLeave(second)).toBe(false);
    await world.clock.advance(1_000);
    expect(steering.mayLeave(second)).toBe(true);
    answer();
    await world.stop();
  });

  it("may be evicted as soon as before when the command begins a second time", async () => {
    const { world, steering, second } = await leaving();
    await steering.begin("c", "keepOffOthers");
    await world.clock.advance(8_000);
    await steering.begin("c", "keepOffOthers");
    await world.clock.advance(3_000);
    expect(steering.mayLeave(second)).toBe(true);
    await world.stop();
  });

  it("may go to a node without NodeClaim, which gets no soft taint", async () => {
    const { world, steering, second } = await leaving();
    await world.api.delete(NODE_CLAIM, { name: "b" });
    await world.clock.settle();
    await steering.begin("c", "keepOffOthers");
    expect(putLast(world)).toEqual(["roomy"]);
    expect(steering.mayLeave(second)).toBe(false);
    await world.stop();
  });

  it("are evicted without steering if a target node does not exist", async () => {
    const { world, steering, second } = await leaving();
    await world.api.delete(NODE, { name: "a" });
    await world.clock.settle();
    await steering.begin("c", "keepOffOthers");
    expect(putLast(world)).toEqual([]);
    expect(steering.mayLeave(second)).toBe(true);
    await world.stop();
  });

  it("put the soft taint on a node that joins for another command meanwhile", async () => {
    const { world, steering, first } = await leaving();
    const theirs = pod({ name: "theirs", cpu: "1", nodeName: "full" });
    await steering.begin("c", "keepOffOthers");
    steering.plan("other", planned("late-claim", theirs));
    await world.api.create(NODE_CLAIM, nodeClaim({ name: "late-claim", nodeClassRef }));
    await world.api.create(NODE, node({ name: "late", providerId: "test://late-claim" }));
    await world.clock.advance(600);
    expect(putLast(world)).toEqual(["b", "late", "roomy"]);
    await steering.begin("other", "keepOffOthers");
    expect(putLast(world)).toEqual(["b", "roomy"]);
    await moved(world, first, "a");
    await world.clock.advance(13_000);
    expect(putLast(world)).toEqual([]);
    await world.stop();
  });

  it("have the target node of a waiting command tainted once, however many commands begin before it", async () => {
    const { world, steering, first, second } = await leaving();
    const { patch } = world.kube;
    let writes = 0;
    const counted: typeof patch = (kind, ref, ...more) => {
      if (ref.name === "roomy") writes++;
      return patch(kind, ref, ...more);
    };
    Object.assign(world.kube, { patch: counted });
    steering.plan("waits", planned("roomy", pod({ name: "theirs", nodeName: "full" })));
    await goneThrough({ world, steering, first, second });
    expect(putLast(world)).toEqual(["roomy"]);
    steering.plan("next", planned("a", pod({ name: "next", nodeName: "full" })));
    await steering.begin("next", "keepOffOthers");
    await world.clock.advance(100_000);
    expect(putLast(world)).toEqual(["roomy"]);
    steering.forget("waits");
    await world.clock.advance(6_000);
    expect([putLast(world), writes]).toEqual([[], 2]);
    await world.stop();
  });

  it("moved for drift to two target nodes: only the second one gets the soft taint", async () => {
    const { world, steering, second } = await leaving();
    await steering.begin("c", "amongPlanned");
    expect(putLast(world)).toEqual(["b"]);
    expect(steering.mayLeave(second)).toBe(false);
    await world.stop();
  });

  it("moved for drift to one target node: no node gets the soft taint", async () => {
    const { world, steering, first } = await leaving();
    steering.plan("one", planned("a", first));
    await steering.begin("one", "amongPlanned");
    expect(putLast(world)).toEqual([]);
    expect(steering.mayLeave(first)).toBe(true);
    await world.stop();
  });

  it("add the soft taint to no further node while no command has begun", async () => {
    const { world, steering, first, second } = await leaving();
    steering.plan("waits", planned("roomy", pod({ name: "theirs", nodeName: "full" })));
    await goneThrough({ world, steering, first, second });
    steering.plan("next", planned("a", pod({ name: "next", nodeName: "full" })));
    await world.clock.advance(6_000);
    expect(putLast(world)).toEqual(["roomy"]);
    await world.stop();
  });

  it("add the soft taint to at most 100 target nodes of waiting commands", async () => {
    const { world, steering } = await leaving();
    for (let i = 0; i < 120; i++) {
      const name = `late-${i}`;
      await world.api.create(NODE_CLAIM, nodeClaim({ name, nodeClassRef }));
      await world.api.create(NODE, node({ name }));
      steering.plan(`waits-${i}`, planned(name, pod({ name: `of-${i}`, nodeName: "full" })));
    }
    await world.clock.settle();
    await steering.begin("c", "amongPlanned");
    expect(putLast(world)).toHaveLength(1 + 100);
    await world.stop();
  });

  it("moved for drift to one target node: its soft taint goes when their command begins", async () => {
    const { world, steering, first, second } = await leaving();
    const theirs = pod({ name: "theirs", cpu: "1", nodeName: "full" });
    steering.plan("waits", planned("roomy", theirs));
    await goneThrough({ world, steering, first, second });
    expect(putLast(world)).toEqual(["roomy"]);
    await steering.begin("waits", "amongPlanned");
    expect([putLast(world), steering.mayLeave(theirs)]).toEqual([[], true]);
    await world.stop();
  });

  it("have no planned node once the command is forgotten", async () => {
    const { world, steering, second } = await leaving();
    expect(steering.hasPlace(second)).toBe(true);
    steering.forget("c");
    expect(steering.hasPlace(second)).toBe(false);
    await world.stop();
  });
});

describe("a soft taint that no command needs", () => {
  it("is removed at the start, if another process left it", async () => {
    const world = fakeWorld();
    await world.api.create(NODE, node({ name: "a", taints: [SOFT] }));
    await world.run(stateNode(world), createSteering(world).controller);
    await world.clock.advance(1_000);
    expect(putLast(world)).toEqual([]);
    await world.stop();
  });

  it("is removed some seconds later if the API server refuses at first", async () => {
    const world = fakeWorld();
    await world.api.create(NODE, node({ name: "a", taints: [SOFT] }));
    const { patch } = world.kube;
    let tries = 0;
    const refused: typeof patch = (...asked) => {
      tries++;
      return tries > 3 ? patch(...asked) : Promise.reject(new KubeError(403, undefined, "no"));
    };
    Object.assign(world.kube, { patch: refused });
    await world.run(stateNode(world), createSteering(world).controller);
    await world.clock.advance(11_000);
    expect([tries, putLast(world)]).toEqual([3, ["a"]]);
    await world.clock.advance(5_000);
    expect(putLast(world)).toEqual([]);
    await world.stop();
  });

  it("is removed from a Node that is created with it while a command runs", async () => {
    const { world, steering } = await leaving();
    await steering.begin("c", "keepOffOthers");
    await world.api.create(NODE, node({ name: "comes", taints: [SOFT] }));
    await world.clock.advance(600);
    expect(putLast(world)).toEqual(["b", "roomy"]);
    await world.stop();
  });

  it("is removed also if it is added after the start", async () => {
    const world = fakeWorld();
    await world.api.create(NODE, node({ name: "a" }));
    await world.run(stateNode(world), createSteering(world).controller);
    world.api.change(NODE, "a", { spec: { taints: [SOFT] } });
    await world.clock.advance(1_000);
    expect(putLast(world)).toEqual([]);
    await world.stop();
  });
});

/**
 * A world with two pods, planned for the nodes `a` and `b`. Node `roomy` is not in the plan, and `full` has no room.
 */
async function leaving() {
  const world = fakeWorld();
  for (const name of ["a", "b", "full", "old", "roomy"]) {
    await world.api.create(NODE_CLAIM, nodeClaim({ name, nodeClassRef }));
    await world.api.create(NODE, node({ name }));
  }
  await world.api.create(POD, pod({ name: "large", cpu: "3900m", nodeName: "full" }));
  const [first, second] = ["first", "second"].map((name) =>
    pod({ name, cpu: "1", nodeName: "old", owner: { kind: "ReplicaSet", name } }),
  ) as [Pod, Pod];
  for (const one of [first, second]) await world.api.create(POD, one);
  const steering = createSteering(world);
  const states = [stateNode(world), stateNodeClaim(world), statePod(world)];
  await world.run(...states, steering.controller);
  world.cluster.markForDeletion("old");
  const placements = [
    { nodeName: "a", pods: [first] },
    { nodeName: "b", pods: [second] },
  ];
  const candidates = [{ zone: "zone-a", reschedulablePods: [first, second] }];
  steering.plan("c", atOnce(evictionOrder({ candidates, replacements: [], placements }, [], [])));
  return { world, steering, first, second };
}

/** The targets of a command that moves one pod to the node. */
function planned(nodeName: string, one: Pod) {
  const candidates = [{ zone: "zone-a", reschedulablePods: [one] }];
  const placements = [{ nodeName, pods: [one] }];
  return atOnce(evictionOrder({ candidates, replacements: [], placements }, [], []));
}

/** Lets the steering of all pods finish. */
async function goneThrough({
  world,
  steering,
  first,
  second,
}: Awaited<ReturnType<typeof leaving>>) {
  await steering.begin("c", "amongPlanned");
  await moved(world, first, "a");
  await world.clock.advance(2_000);
  await moved(world, second, "b");
  await world.clock.advance(15_000);
}

async function moved(world: FakeWorld, old: Pod, nodeName: string | undefined): Promise<void> {
  const { name, namespace } = old.metadata;
  await world.api.delete(POD, { name, namespace });
  const owner = { kind: "ReplicaSet", name };
  await world.api.create(
    POD,
    pod({ name: `${name}-new`, cpu: "1", owner, ...(nodeName && { nodeName }) }),
  );
  await world.clock.settle();
}

const putLast = (world: FakeWorld) =>
  world.api
    .all(NODE)
    .filter(({ spec }) => spec?.taints?.some(({ key }) => key === SOFT.key))
    .map(({ metadata }) => metadata.name)
    .sort();
