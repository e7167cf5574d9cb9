// A command that is rolled back while its process ends. The next process untaints all of its nodes, or deletes all of
// its claims.
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { movesAnnotation, movesOn } from "../../core/disruption/moves.ts";
import { recordOf, replacementCommandId, withRecord } from "../../core/disruption/record.ts";
import { KubeError } from "../../kube/errors.ts";
import { node, nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { stateDaemonSet } from "../state/daemonsets.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { stateNode } from "../state/nodes.ts";
import { statePod } from "../state/pods.ts";
import { type CommandQueue, createCommandQueue } from "./command-queue.ts";
import { disruption } from "./controller.ts";
import { rollBack } from "./roll-back.ts";
import type { RunningCommand } from "./running.ts";
import { createSteering } from "./steering.ts";

const nodeClassRef = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
const CLOSED = { key: "karpenter.sh/disrupted", effect: "NoSchedule" } as const;
const WRITES = ["create", "update", "updateStatus", "patch", "delete", "evict", "bind"] as const;

describe("a disruption command that is rolled back", () => {
  it("deletes no NodeClaim of an untainted node, whichever write its process dies at", async () => {
    const whole = await killedAt(Number.POSITIVE_INFINITY, "nothing");
    expect(whole.openAtOnce).toEqual(["a", "b"]);
    const left: string[] = [];
    for (const slow of ["nothing", "a", "b"])
      for (let at = 0; at <= whole.writes; at++) {
        const { openAtOnce, open, deleted } = await killedAt(at, slow);
        left.push(openAtOnce.join());
        const told = { at, slow, openAtOnce, open, deleted };
        // Nodes whose taint was already removed may have taken new pods, so they must not be deleted.
        if (openAtOnce.length > 0) expect(told).toMatchObject({ open: ["a", "b"], deleted: [] });
        else expect([[], ["a", "b"]], JSON.stringify(told)).toContainEqual(deleted);
      }
    expect(new Set(left)).toEqual(new Set(["", "a", "b", "a,b"]));
  });

  it("untaints all its nodes even if its replacement is initialized before the last is untainted", async () => {
    const world = fakeWorld();
    await lateCommand(world, PAIR);
    const refused = refuseFor(world, 20_000, ["a"]);
    await running(world);
    await world.clock.advance(5_000);
    expect([refused.tries > 1, openNodes(world)]).toEqual([true, ["b"]]);
    isReady(world, "r");
    await world.clock.advance(60_000);
    expect([openNodes(world), deletedOf(world)]).toEqual([["a", "b"], []]);
    await world.stop();
  });

  it("counts as one failure in the metric and the back-off, however often untainting its nodes fails", async () => {
    const world = fakeWorld();
    await lateCommand(world, [
      { nodes: ["a"], replacement: "r1" },
      { nodes: ["b"], replacement: "r2" },
    ]);
    const refused = refuseFor(world, 200_000, ["a", "b"]);
    const queue = await running(world);
    await world.clock.advance(190_000);
    expect([refused.tries > 10, openNodes(world)]).toEqual([true, []]);
    await world.clock.advance(30_000);
    expect(openNodes(world)).toEqual(["a", "b"]);
    const failures = [...world.measured].filter(([key]) => key.includes("queue_failures_total"));
    expect(failures.map(([, count]) => count)).toEqual([2]);
    // Two commands failed, so the back-off is two minutes from the time when the last node is untainted.
    const openedMs = refused.overMs;
    const untilMs = queue.backoff.pools(world.clock.now()).get("nodepool/default") ?? 0;
    expect(untilMs - openedMs).toBeGreaterThanOrEqual(120_000);
    expect(untilMs - openedMs).toBeLessThanOrEqual(132_000);
    const told = world.published.filter(({ message }) => message.startsWith("Its replacement"));
    expect(told).toHaveLength(4);
    for (const { message } of told)
      expect(Date.parse(/until (\S+)$/.exec(message)?.[1] ?? "")).toBeGreaterThan(
        openedMs + 60_000,
      );
    await world.stop();
  });

  it.each<[string, (world: FakeWorld) => unknown]>([
    ["by the process that waits for the replacement", () => {}],
    [
      "by a process that finds its NodePool deleted",
      ({ api }) => api.delete(NODE_POOL, { name: "default" }),
    ],
  ])(
    "loses its annotations and moves on a replacement that stays, if rolled back %s",
    async (_, before) => {
      const world = fakeWorld();
      await lateCommand(world, PAIR);
      bearsMoves(world, "r", "for-r", "earlier");
      await before(world);
      const queue = await running(world);
      await world.clock.advance(15_000);
      expect([openNodes(world), deletedOf(world)]).toEqual([["a", "b"], []]);
      expect(toldOn(world, "r")).toEqual([undefined, ["earlier"]]);
      expect(queue.ledger.recent(world.clock.now()).map(({ command }) => command)).toEqual([
        "earlier",
      ]);
      const claim = world.api.find(NODE_CLAIM, "r") as NodeClaim;
      expect(queue.ledger.replacementHoldOffEndsMs(claim)).toBeUndefined();
      await world.stop();
    },
  );

  it("keeps its annotation and moves on its replacement if one of its NodeClaims is being deleted", async () => {
    const world = fakeWorld();
    await lateCommand(world, PAIR);
    bearsMoves(world, "r", "for-r");
    await world.api.delete(NODE_CLAIM, { name: "a" });
    const queue = await running(world);
    await world.clock.advance(15_000);
    expect(openNodes(world)).toEqual(["b"]);
    expect(toldOn(world, "r")).toEqual(["for-r", ["for-r"]]);
    const counting = queue.ledger.recent(world.clock.now()).map(({ command }) => command);
    expect(counting).toEqual(["for-r"]);
    await world.stop();
  });

  it("continues after a restart with its NodePool paused, if one of its NodeClaims is being deleted", async () => {
    const world = fakeWorld({ pauseDisruption: true });
    await lateCommand(world, PAIR, 60_000);
    isReady(world, "r");
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await running(world);
    await world.clock.advance(15_000);
    expect([openNodes(world), deletedOf(world)]).toEqual([[], ["a", "b"]]);
    await world.stop();
  });

  it("is rolled back after a restart with its NodePool paused, if all of its nodes exist", async () => {
    const world = fakeWorld({ pauseDisruption: true });
    await lateCommand(world, PAIR, 60_000);
    isReady(world, "r");
    await running(world);
    await world.clock.advance(15_000);
    expect([openNodes(world), deletedOf(world)]).toEqual([["a", "b"], []]);
    await world.stop();
  });

  it("counts one failure for each replacement that is not initialized", async () => {
    const world = fakeWorld();
    const queue = await running(world);
    for (const [name, ...more] of [["comes", said("Initialized")], ["late"]] as const)
      await world.api.create(NODE_CLAIM, claimOf(world, name, more));
    await world.clock.settle();
    const startedAt = toRfc3339(world.clock.now() - 30 * 60_000);
    const own = { id: "c", reason: "Drifted", consolidationType: "", nodes: ["a"] } as const;
    const record = { ...own, startedAt, replacements: 3 };
    const replacements = ["comes", "late", "gone"].map((name) => claimOf(world, name, []));
    queue.resume({ record, candidates: [], replacements });
    await world.clock.advance(2_000);
    const failures = [...world.measured].filter(([key]) => key.includes("queue_failures_total"));
    expect(failures.map(([, count]) => count)).toEqual([2]);
    await world.stop();
  });

  it("fails after ten minutes if the clock is set back by an hour", async () => {
    const { world, failures } = await resumed(-5 * 60_000);
    world.clock.setBack(3_600_000);
    await world.clock.advance(4 * 60_000);
    expect(failures()).toEqual([]);
    await world.clock.advance(2 * 60_000);
    expect(failures()).toEqual([1]);
    await world.stop();
  });

  it("fails after ten minutes if another process started it with a clock an hour ahead", async () => {
    const { world, failures } = await resumed(60 * 60_000);
    await world.clock.advance(9 * 60_000);
    expect(failures()).toEqual([]);
    await world.clock.advance(2 * 60_000);
    expect(failures()).toEqual([1]);
    await world.stop();
  });

  it("leaves and untaints a node whose claim lost the command's annotation by another program", async () => {
    const world = fakeWorld();
    await lateCommand(world, PAIR, 60_000);
    await running(world);
    await world.clock.advance(2_000);
    const annotations = { "karpenter.sh/disruption-command": "" };
    world.api.change(NODE_CLAIM, "a", { metadata: { annotations } });
    isReady(world, "r");
    await world.clock.advance(15_000);
    expect([openNodes(world), deletedOf(world)]).toEqual([["a"], ["b"]]);
    const { status } = world.api.find(NODE_CLAIM, "a") as NodeClaim;
    expect(status?.conditions?.map(({ type }) => type)).not.toContain("DisruptionReason");
    const counted = [...world.measured].filter(([key]) => key.startsWith("nodeclaims_disrupted"));
    expect(counted.map(([, count]) => count)).toEqual([1]);
    await world.stop();
  });

  it("untaints such a node also if the API server refuses that at first", async () => {
    const world = fakeWorld();
    await lateCommand(world, PAIR, 60_000);
    await running(world);
    await world.clock.advance(2_000);
    const annotations = { "karpenter.sh/disruption-command": "" };
    world.api.change(NODE_CLAIM, "a", { metadata: { annotations } });
    const refused = refuseFor(world, 5_000, ["a"]);
    isReady(world, "r");
    await world.clock.advance(60_000);
    expect([refused.tries > 0, openNodes(world), deletedOf(world)]).toEqual([true, ["a"], ["b"]]);
    await world.stop();
  });

  it("deletes its replacement after a restart if its NodePool is gone", async () => {
    const world = fakeWorld();
    await lateCommand(world, PAIR);
    world.api.change(NODE_CLAIM, "r", { status: { conditions: [said("Launched")] } });
    await world.api.delete(NODE_POOL, { name: "default" });
    await running(world);
    await world.clock.advance(15_000);
    expect([openNodes(world), deletedOf(world)]).toEqual([["a", "b"], ["r"]]);
    await world.stop();
  });

  it("untaints its nodes although its moves cannot be removed from the claim that takes its pods", async () => {
    const world = fakeWorld();
    await lateCommand(world, PAIR);
    bearsMoves(world, "r", "own");
    await world.run(stateNode(world), stateNodeClaim(world));
    await world.clock.settle();
    expect(openNodes(world)).toEqual([]);
    world.api.unpatchable.add("r");
    const one = { claim: world.api.find(NODE_CLAIM, "a") as NodeClaim };
    const node = { name: "a", node: world.api.find(NODE, "a"), ...one };
    const command = {
      record: { id: "own", nodes: ["a"] },
      candidates: [{ ...one, node }],
      replacements: [],
      target: world.api.find(NODE_CLAIM, "r"),
    } as unknown as RunningCommand;
    await expect(rollBack(world, command)).rejects.toThrow("the server is away");
    expect(openNodes(world)).toContain("a");
    await world.stop();
  });

  it("untaints its nodes after a restart although its replacement cannot be deleted, and deletes it later", async () => {
    const first = fakeWorld();
    await lateCommand(first, [...PAIR, { nodes: ["c"], replacement: "r2" }]);
    for (const name of ["r", "r2"])
      first.api.change(NODE_CLAIM, name, { status: { conditions: [said("Launched")] } });
    await first.api.delete(NODE_POOL, { name: "default" });
    first.api.undeletable.add("r");
    await running(first);
    await first.clock.advance(15_000);
    expect([openNodes(first), deletedOf(first)]).toEqual([["a", "b", "c"], ["r2"]]);
    await first.stop();
    // The marks on the claims tell another process of the replacement.
    const next = fakeWorld({}, first);
    next.api.undeletable.delete("r");
    await running(next);
    await next.clock.advance(15_000);
    expect([openNodes(next), deletedOf(next)]).toEqual([
      ["a", "b", "c"],
      ["r", "r2"],
    ]);
    for (const name of ["a", "b", "c"])
      expect(recordOf(next.api.find(NODE_CLAIM, name) as NodeClaim)).toBeUndefined();
    await next.stop();
  });
});

/**
 * Stops a process after `most` writes. Returns the state it left and what the next process did. Meanwhile the
 * replacement becomes ready. Writes to the object `slow` do not arrive in time.
 */
async function killedAt(most: number, slow: string) {
  const first = fakeWorld();
  await lateCommand(first, PAIR);
  let writes = 0;
  for (const verb of WRITES) {
    const write = first.kube[verb] as (...asked: unknown[]) => Promise<unknown>;
    const counted = (kind: unknown, ref: { readonly name?: string }, ...more: unknown[]) => {
      if (ref.name === slow || writes >= most) return new Promise(() => undefined);
      writes++;
      return write.apply(first.kube, [kind, ref, ...more]);
    };
    Object.assign(first.kube, { [verb]: counted });
  }
  await running(first);
  await first.clock.advance(5_000);
  void first.stop();
  const openAtOnce = openNodes(first);
  const next = fakeWorld({}, first);
  isReady(first, "r");
  await running(next);
  await next.clock.advance(60_000);
  await next.stop();
  return { writes, openAtOnce, open: openNodes(next), deleted: deletedOf(next) };
}

/**
 * Continues a command that waits for its replacement in another process. By the first process's clock it began
 * `startedInMs` from now.
 */
async function resumed(startedInMs: number) {
  const world = fakeWorld();
  const queue = await running(world);
  await world.api.create(NODE_CLAIM, claimOf(world, "late", []));
  await world.clock.settle();
  const startedAt = toRfc3339(world.clock.now() + startedInMs);
  const own = { id: "c", reason: "Drifted", consolidationType: "", nodes: ["a"] } as const;
  const record = { ...own, startedAt, replacements: 1 };
  queue.resume({ record, candidates: [], replacements: [claimOf(world, "late", [])] });
  const failures = () =>
    [...world.measured]
      .filter(([key]) => key.includes("queue_failures_total"))
      .map(([, count]) => count);
  return { world, failures };
}

/** Makes writes to these Nodes fail for some time. */
function refuseFor(world: FakeWorld, forMs: number, names: readonly string[]) {
  const refused = { tries: 0, overMs: world.clock.now() + forMs };
  const { patch } = world.kube;
  const refuse: typeof patch = (kind, ref, ...more) => {
    const isOver = world.clock.now() >= refused.overMs;
    if (isOver || kind.kind !== "Node" || !names.includes(ref.name))
      return patch(kind, ref, ...more);
    refused.tries++;
    return Promise.reject(new KubeError(500, undefined, "a webhook is away"));
  };
  Object.assign(world.kube, { patch: refuse });
  return refused;
}

/** Runs all controllers that take part in a rollback. No new command begins. */
async function running(world: FakeWorld): Promise<CommandQueue> {
  const steering = createSteering(world);
  const queue = createCommandQueue(world, async () => [], steering);
  const states = [stateNode(world), stateNodeClaim(world), stateDaemonSet(world), statePod(world)];
  await world.run(...states, steering.controller, queue.controller, disruption(world, queue));
  return queue;
}

const openNodes = (world: FakeWorld) =>
  world.api
    .all(NODE)
    .filter(({ spec }) => !spec?.taints?.some(({ key }) => key === CLOSED.key))
    .map(({ metadata }) => metadata.name)
    .filter((name) => !name.startsWith("r"));

const said = (type: string) => ({
  type,
  status: "True" as const,
  reason: type,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

const READY = { "karpenter.sh/initialized": "true" };

const PAIR = [{ nodes: ["a", "b"], replacement: "r" }];

/** Creates tainted nodes of commands. Each command has a replacement that registered, but is not ready in time. */
async function lateCommand(
  world: FakeWorld,
  commands: readonly { readonly nodes: readonly string[]; readonly replacement: string }[],
  ageMs = 30 * 60_000,
): Promise<void> {
  const ready = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, {
    metadata: { name: "default" },
    status: ready,
  } as never);
  const spec = {
    disruption: {
      consolidateAfter: "0s",
      consolidationPolicy: "WhenEmptyOrUnderutilized",
      budgets: [{ nodes: "0" }],
    },
  } as const;
  await world.api.create(NODE_POOL, nodePool({ spec, template: { nodeClassRef } }));
  for (const { nodes, replacement } of commands) {
    for (const name of nodes) await closed(world, name, nodes, replacement, ageMs);
    const late = claimOf(world, replacement, []);
    const annotations = { "karpenter.sh/replacement-for-command": `for-${replacement}` };
    const marked = { ...late, metadata: { ...late.metadata, annotations } };
    const made = await world.api.create(NODE_CLAIM, marked);
    world.cloud.instances.set(`test://${replacement}`, made);
    await world.api.create(NODE, nodeOf(replacement, {}, []));
  }
}

async function closed(
  world: FakeWorld,
  name: string,
  nodes: readonly string[],
  by: string,
  ageMs: number,
) {
  const disrupted = { ...said("DisruptionReason"), reason: "Underutilized" };
  const claim = claimOf(world, name, [said("Initialized"), disrupted]);
  const record = {
    id: `for-${by}`,
    reason: "Underutilized",
    consolidationType: nodes.length === 1 ? "single" : "multi",
    startedAt: toRfc3339(world.clock.now() - ageMs),
    nodes,
    replacements: 1,
  } as const;
  const made = await world.api.create(NODE_CLAIM, withRecord(claim, record));
  world.cloud.instances.set(`test://${name}`, made);
  await world.api.create(NODE, nodeOf(name, { ...READY }, [CLOSED]));
  await world.api.create(POD, pod({ name: `on-${name}`, cpu: "1", nodeName: name }));
}

/** Writes moves of these commands on the claim. */
function bearsMoves(world: FakeWorld, name: string, ...commands: readonly string[]): void {
  const moves = commands.map((command) => ({
    command,
    reason: "Underutilized" as const,
    at: toRfc3339(world.clock.now() - 30 * 60_000),
    nodes: ["a", "b"],
    priceMicroUsd: 2,
    savesMicroUsd: 1,
    replacements: 1,
    pods: { web: 2 },
  }));
  const annotations = movesAnnotation(moves, world.clock.now());
  world.api.change(NODE_CLAIM, name, { metadata: { annotations } });
}

/** The command for which the claim was created, and the commands in its recorded moves. */
function toldOn(world: FakeWorld, name: string) {
  const claim = world.api.find(NODE_CLAIM, name) as NodeClaim;
  return [replacementCommandId(claim), movesOn(claim).map(({ command }) => command)];
}

/** Makes the replacement's node ready. */
function isReady(world: FakeWorld, name: string): void {
  world.api.change(NODE, name, { metadata: { labels: READY } });
  const { status } = world.api.find(NODE_CLAIM, name) as NodeClaim;
  const conditions = [...(status?.conditions ?? []), said("Initialized")];
  world.api.change(NODE_CLAIM, name, { status: { conditions } });
}

const deletedOf = (world: FakeWorld) =>
  world.api
    .all(NODE_CLAIM)
    .filter(({ metadata }) => metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name);

const LABELS = {
  "karpenter.sh/nodepool": "default",
  "karpenter.test.sh/testnodeclass": "default",
  "node.kubernetes.io/instance-type": "c-4x",
  "karpenter.sh/capacity-type": "on-demand",
  "topology.kubernetes.io/zone": "zone-a",
};
const finalizers = ["karpenter.sh/termination"];

function claimOf(
  world: FakeWorld,
  name: string,
  more: readonly ReturnType<typeof said>[],
): NodeClaim {
  const creationTimestamp = toRfc3339(world.clock.now() - 30 * 60_000);
  const conditions = [...["Launched", "Registered"].map(said), ...more];
  return {
    metadata: { name, labels: LABELS, creationTimestamp, finalizers },
    spec: { requirements: [], nodeClassRef, expireAfter: "720h" },
    status: { providerID: `test://${name}`, nodeName: name, conditions },
  };
}

function nodeOf(name: string, labels: Record<string, string>, taints: readonly (typeof CLOSED)[]) {
  const joined = { ...LABELS, "karpenter.sh/registered": "true", ...labels };
  const made = node({ name, labels: joined, taints: [...taints] });
  return { ...made, metadata: { ...made.metadata, finalizers } };
}
