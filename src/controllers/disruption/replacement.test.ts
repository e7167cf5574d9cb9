// Replacement of nodes: the new node is launched first, and everything is rolled back if it does not become ready.
import { describe, expect, it } from "vitest";
import { DEPLOYMENT, type Deployment } from "../../apis/apps/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { Kind } from "../../apis/meta.ts";
import { POD_DISRUPTION_BUDGET } from "../../apis/policy/kinds.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { InsufficientCapacityError } from "../../core/cloudprovider/errors.ts";
import { movesOn } from "../../core/disruption/moves.ts";
import { recordOf } from "../../core/disruption/record.ts";
import { node, nodePool, pod } from "../../testing/builders.ts";
import { establish, FAKE_CLASS_REF } from "../../testing/established.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

/** A world with a pool and one node in use, which the cloud reports as drifted. */
async function driftedNode(
  options: {
    limits?: Record<string, string>;
    drifted?: boolean;
    settings?: Parameters<typeof fakeWorld>[0];
    /** Changes the world before any controller runs. */
    before?: (world: FakeWorld) => unknown;
  } = {},
): Promise<FakeWorld> {
  const world = fakeWorld(options.settings);
  if (options.drifted !== false)
    world.cloud.isDrifted = async ({ metadata }) =>
      metadata.name === "a" ? "AMIDrift" : undefined;
  const ready = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, {
    metadata: { name: "default" },
    status: ready,
  } as never);
  const { limits } = options;
  const spec = limits === undefined ? {} : { spec: { limits } };
  await world.api.create(
    NODE_POOL,
    nodePool({ ...spec, template: { nodeClassRef: FAKE_CLASS_REF } }),
  );
  await establish(world, "a", 60_000);
  await world.api.create(POD, pod({ name: "app", cpu: "3", nodeName: "a" }));
  await options.before?.(world);
  await world.run(...allControllers(world));
  return world;
}

const claims = (world: FakeWorld) => world.api.all(NODE_CLAIM);
const claimOf = (world: FakeWorld, name: string) => world.api.find(NODE_CLAIM, name) as NodeClaim;
const taints = (world: FakeWorld) =>
  (world.api.find(NODE, "a")?.spec?.taints ?? []).map(({ key }) => key);
const replacementOf = (world: FakeWorld) =>
  claims(world).find(({ metadata }) => metadata.name !== "a") as NodeClaim;

/**
 * A world with two pods on a drifted node with a preferred anti-affinity, and another node. The limits allow one more
 * node.
 */
function narrow(): Promise<FakeWorld> {
  const topologySpreadConstraints = [
    {
      maxSkew: 1,
      topologyKey: "kubernetes.io/hostname",
      whenUnsatisfiable: "ScheduleAnyway" as const,
      labelSelector: { matchLabels: { app: "web" } },
    },
  ];
  const web = (name: string, nodeName: string) =>
    pod({ name, nodeName, labels: { app: "web" }, spec: { topologySpreadConstraints } });
  return driftedNode({
    limits: { nodes: "2" },
    before: async (one) => {
      await establish(one, "b", 60_000);
      await one.api.delete(POD, { name: "app", namespace: "default" });
      await one.api.create(POD, web("first", "a"));
      await one.api.create(POD, web("second", "a"));
      await one.api.create(POD, web("third", "b"));
    },
  });
}

describe("a drifted node", () => {
  it("is deleted once its replacement is initialized, and not before (S2-44)", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    expect(condition(claimOf(world, "a"), "Drifted")).toMatchObject({ reason: "AMIDrift" });
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    expect(isTrue(claimOf(world, "a"), "DisruptionReason")).toBe(true);
    const replacement = replacementOf(world);
    expect(movesOn(replacement)).toMatchObject([{ reason: "Drifted", nodes: ["a"] }]);
    await world.clock.advance(60_000);
    expect(claims(world)).toHaveLength(2);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    await world.join(claimOf(world, replacement.metadata.name));
    await world.clock.advance(5_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeDefined();
    const told = world.published.map(({ reason }) => reason);
    expect(told).toEqual(
      expect.arrayContaining([
        "DisruptionLaunching",
        "DisruptionWaitingReadiness",
        "DisruptionTerminating",
      ]),
    );
    await world.stop();
  });

  it("is tainted and replaced also if its kubelet patches the Node at the same moment", async () => {
    const world = await driftedNode();
    const { patch } = world.kube;
    const raced: typeof patch = async (kind, ref, change, ...more) => {
      const isClosing = kind.kind === "Node" && JSON.stringify(change.body).includes("disrupted");
      if (isClosing) {
        Object.assign(world.kube, { patch });
        const body = { metadata: { annotations: { written: "meanwhile" } } };
        await patch(kind, ref, { type: "merge", body });
      }
      return patch(kind, ref, change, ...more);
    };
    Object.assign(world.kube, { patch: raced });
    await world.clock.advance(11_000);
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    expect(world.api.find(NODE, "a")?.metadata.annotations).toMatchObject({ written: "meanwhile" });
    expect(claims(world)).toHaveLength(2);
    await world.stop();
  });

  it("gets no replacement if the Node is gone, or another has its name, when it is to be tainted", async () => {
    for (const comesAgain of [false, true]) {
      const world = await driftedNode();
      const { patch } = world.kube;
      const raced: typeof patch = async (kind, ref, change, ...more) => {
        const isClosing = kind.kind === "Node" && JSON.stringify(change.body).includes("disrupted");
        if (isClosing) {
          Object.assign(world.kube, { patch });
          world.api.vanish(NODE, "a");
          const other = node({ name: "a", providerId: "test://b" });
          const metadata = { ...other.metadata, uid: "another" };
          if (comesAgain) await world.api.create(NODE, { ...other, metadata });
        }
        return patch(kind, ref, change, ...more);
      };
      Object.assign(world.kube, { patch: raced });
      await world.clock.advance(11_000);
      expect(world.lines.join()).toContain("node a is gone");
      expect([taints(world), condition(claimOf(world, "a"), "DisruptionReason")]).toEqual([
        [],
        undefined,
      ]);
      expect(claims(world).map(({ metadata }) => metadata.name)).toEqual(["a"]);
      await world.stop();
    }
  });

  it("gets no replacement if its NodeClaim is gone when the Node is to be tainted", async () => {
    const world = await driftedNode();
    const { patch } = world.kube;
    const raced: typeof patch = (kind, ref, change, ...more) => {
      const isClosing = kind.kind === "Node" && JSON.stringify(change.body).includes("disrupted");
      if (isClosing) world.api.vanish(NODE_CLAIM, "a");
      return patch(kind, ref, change, ...more);
    };
    Object.assign(world.kube, { patch: raced });
    await world.clock.advance(11_000);
    expect(world.lines.join()).toContain("claim a is gone");
    expect(world.lines.filter((line) => line.includes("created nodeclaim"))).toEqual([]);
    await world.stop();
  });

  it("is untainted when its replacement finds no capacity, and tried again after a minute", async () => {
    const world = await driftedNode({
      before: ({ cloud }) => cloud.refusals.push(new InsufficientCapacityError("no room")),
    });
    await world.clock.advance(15_000);
    expect(claims(world).map(({ metadata }) => metadata.name)).toEqual(["a"]);
    expect(taints(world)).toEqual([]);
    expect(condition(claimOf(world, "a"), "DisruptionReason")).toBeUndefined();
    expect(world.cloud.creates).toBe(1);
    await world.clock.advance(40_000);
    expect(world.cloud.creates).toBe(1);
    await world.clock.advance(40_000);
    expect(world.cloud.creates).toBe(2);
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    const told = world.published.filter(({ message }) => message.startsWith("Its replacement"));
    expect(told.map(({ object, reason }) => `${object.kind} ${reason}`)).toEqual([
      "Node DisruptionBlocked",
      "NodeClaim DisruptionBlocked",
    ]);
    const [, until = ""] =
      /no other of nodepool\/default is asked for until (.+)$/.exec(told[0]?.message ?? "") ?? [];
    // The next command did not begin before the back-off ended.
    const nextMs = fromRfc3339(
      condition(claimOf(world, "a"), "DisruptionReason")?.lastTransitionTime,
    ) as number;
    expect(nextMs - (fromRfc3339(until) as number)).toBeGreaterThanOrEqual(0);
    expect(nextMs - (fromRfc3339(until) as number)).toBeLessThan(12_000);
    await world.stop();
  });

  it("loses the taint when its NodePool is paused, although its replacement cannot be deleted", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    const { name } = replacementOf(world).metadata;
    const { delete: remove } = world.kube;
    let refuses = true;
    const refusing = async (...given: Parameters<typeof remove>) => {
      if (refuses && given[1].name === name) throw new Error("a webhook fails");
      return remove(...given);
    };
    Object.assign(world.kube, { delete: refusing });
    const annotations = { "karpenter.sh/disruption-paused": "true" };
    world.api.change(NODE_POOL, "default", { metadata: { annotations } } as never);
    await world.clock.advance(5_000);
    expect([claims(world).length, taints(world)]).toEqual([2, []]);
    refuses = false;
    await world.clock.advance(30_000);
    expect(claims(world).map(({ metadata }) => metadata.name)).toEqual(["a"]);
    await world.stop();
  });

  it("loses the taint and the replacement when its NodePool is paused, and no back-off starts", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    expect([claims(world).length, taints(world)]).toEqual([2, ["karpenter.sh/disrupted"]]);
    const annotations = (paused: string) => ({
      metadata: { annotations: { "karpenter.sh/disruption-paused": paused } },
    });
    world.api.change(NODE_POOL, "default", annotations("true") as never);
    await world.clock.advance(3_000);
    expect([claims(world).map(({ metadata }) => metadata.name), taints(world)]).toEqual([
      ["a"],
      [],
    ]);
    expect([
      recordOf(claimOf(world, "a")),
      condition(claimOf(world, "a"), "DisruptionReason"),
    ]).toEqual([undefined, undefined]);
    expect(
      world.lines.filter((line) => line.includes("taking a disruption command back")),
    ).toHaveLength(1);
    expect([...world.measured].filter(([key]) => key.includes("queue_failures"))).toEqual([]);
    expect(world.published.filter(({ message }) => message.startsWith("Its replacement"))).toEqual(
      [],
    );
    await world.clock.advance(60_000);
    expect(claims(world)).toHaveLength(1);
    // The rolled-back command has not failed, so there is no back-off.
    world.api.change(NODE_POOL, "default", annotations("false") as never);
    await world.clock.advance(20_000);
    expect(claims(world)).toHaveLength(2);
    await world.stop();
  });

  it("loses the record of its pods' moves when a pause rolls back a command without replacement", async () => {
    const owner = { kind: "ReplicaSet", name: "app-5f", apiVersion: "apps/v1" };
    const world = await driftedNode({
      before: async (one) => {
        await establish(one, "b", 60_000);
        await one.api.delete(POD, { name: "app", namespace: "default" });
        await one.api.create(POD, pod({ name: "app", cpu: "1", nodeName: "a", owner }));
        await one.api.create(POD, pod({ name: "other", cpu: "1", nodeName: "b", owner }));
      },
    });
    const paused = { metadata: { annotations: { "karpenter.sh/disruption-paused": "true" } } };
    const { patch } = world.kube;
    const written: string[] = [];
    const pausing: typeof patch = async (kind, ref, change, ...more) => {
      const isMove = kind.kind === "NodeClaim" && ref.name === "b";
      const done = await patch(kind, ref, change, ...more);
      if (!isMove || movesOn(claimOf(world, "b")).length === 0) return done;
      written.push(...movesOn(claimOf(world, "b")).map(({ reason }) => reason));
      world.api.change(NODE_POOL, "default", paused as never);
      return done;
    };
    Object.assign(world.kube, { patch: pausing });
    await world.clock.advance(60_000);
    expect(
      world.lines.filter((line) => line.includes("taking a disruption command back")),
    ).toHaveLength(1);
    expect([claims(world).length, taints(world), written]).toEqual([2, [], ["Drifted"]]);
    // If the ledger still had the command, its moves would be written again.
    for (const name of ["a", "b"]) expect(movesOn(claimOf(world, name))).toEqual([]);
    await world.stop();
  });

  it("is deleted though its NodePool is paused, once its deletion was tried", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    const { name } = replacementOf(world).metadata;
    const { delete: remove } = world.kube;
    let tries = 0;
    const failing: typeof remove = async (kind, ref, ...more) => {
      if (ref.name !== "a") return remove(kind, ref, ...more);
      tries++;
      throw new Error("not now");
    };
    Object.assign(world.kube, { delete: failing });
    await world.join(claimOf(world, name));
    await world.clock.advance(3_000);
    expect([tries > 0, claimOf(world, "a").metadata.deletionTimestamp]).toEqual([true, undefined]);
    const metadata = { annotations: { "karpenter.sh/disruption-paused": "true" } };
    world.api.change(NODE_POOL, "default", { metadata } as never);
    await world.clock.advance(3_000);
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    Object.assign(world.kube, { delete: remove });
    await world.clock.advance(15_000);
    expect(world.api.find(NODE_CLAIM, "a")?.metadata.deletionTimestamp).toBeDefined();
    await world.stop();
  });

  it("loses its taint, DisruptionReason and command record together when its replacement is deleted", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    await world.api.delete(NODE_CLAIM, { name: replacementOf(world).metadata.name });
    await world.clock.advance(100);
    expect([taints(world), condition(claimOf(world, "a"), "DisruptionReason")]).toEqual([
      [],
      undefined,
    ]);
    expect(recordOf(claimOf(world, "a"))).toBeUndefined();
    await world.stop();
  });

  it("stays tainted if a person deleted the Node or NodeClaim before its replacement fails", async () => {
    for (const [kind, own] of [
      [NODE, "node"],
      [NODE_CLAIM, "claim"],
    ] as const) {
      const world = await driftedNode();
      world.api.guarded.add("default/app");
      await world.clock.advance(11_000);
      await world.api.delete(kind as Kind, { name: "a" });
      await world.clock.advance(5_000);
      const opened: string[] = [];
      const { patch } = world.kube;
      const watched: typeof patch = async (...asked) => {
        const answer = await patch(...asked);
        if (taints(world).length === 0) opened.push(own);
        return answer;
      };
      Object.assign(world.kube, { patch: watched });
      await world.api.delete(NODE_CLAIM, { name: replacementOf(world).metadata.name });
      await world.clock.advance(20_000);
      expect(world.lines.join()).toContain("while executing a disruption command");
      expect([opened, taints(world)]).toEqual([[], ["karpenter.sh/disrupted"]]);
      // The claim keeps the reason from the start of the command.
      expect(condition(claimOf(world, "a"), "DisruptionReason")?.reason).toBe("Drifted");
      await world.stop();
    }
  });

  it("gets one replacement only, if one of its two pods moves to an existing node (calm seed 5017)", async () => {
    const world = await narrow();
    await world.clock.advance(9 * 60_000);
    // One pod goes to the other node, so only one replacement is created.
    expect(claims(world)).toHaveLength(3);
    await world.clock.advance(3 * 60_000);
    await world.stop();
  });

  it("keeps its replacement for its own pods: a pending pod is nominated to another NodeClaim", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    const { name } = replacementOf(world).metadata;
    // The larger pod is planned first.
    await world.api.create(POD, pod({ name: "late", cpu: "3500m" }));
    await world.clock.advance(15_000);
    const own = claims(world).find(({ metadata }) => !["a", name].includes(metadata.name));
    const told = world.published
      .filter(({ reason }) => reason === "Nominated")
      .map(({ object, message }) => `${object.metadata.name}: ${message}`);
    expect([...new Set(told)].sort()).toEqual([
      `app: Pod should schedule on: nodeclaim/${name}`,
      `late: Pod should schedule on: nodeclaim/${own?.metadata.name}`,
    ]);
    await world.stop();
  });

  it("loses its replacement and stays when that does not launch a Node in time", async () => {
    const world = await driftedNode();
    await world.clock.advance(9 * 60_000);
    const { name } = replacementOf(world).metadata;
    await world.clock.advance(3 * 60_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    expect(world.api.find(NODE_CLAIM, name)).toBeUndefined();
    expect(world.lines.some((line) => line.includes("executing a disruption command"))).toBe(true);
    await world.stop();
  });

  it("gets another replacement when the first joined and is never Ready, which is deleted", async () => {
    const world = await driftedNode();
    await world.clock.advance(30_000);
    const first = replacementOf(world);
    const status = { conditions: [{ type: "Ready", status: "False" }] };
    await world.join(first, { status });
    await world.clock.advance(29 * 60_000);
    expect(claims(world).map(({ metadata }) => metadata.name)).toContain(first.metadata.name);
    await world.clock.advance(5 * 60_000);
    expect(claims(world).map(({ metadata }) => metadata.name)).not.toContain(first.metadata.name);
    await world.join(replacementOf(world));
    await world.clock.advance(5_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeDefined();
    await world.stop();
  });

  it("counts towards the NodePool limit during a rollback: pending pods get no node (calm seed 97154)", async () => {
    const world = await driftedNode({
      limits: { cpu: "8" },
      before: async (one) => {
        await establish(one, "b", 60_000);
        await one.api.create(POD, pod({ name: "other", cpu: "3", nodeName: "b" }));
      },
    });
    await world.clock.advance(11_000);
    await world.api.create(POD, pod({ name: "late", cpu: "3" }));
    // The patch that untaints the node is slow, so the replacement is deleted before the node is untainted.
    const { patch } = world.api;
    world.api.patch = async (...asked) => {
      await world.clock.sleep(2_000);
      return patch(...asked);
    };
    await world.clock.advance(9 * 60_000);
    expect(claims(world)).toHaveLength(3);
    await world.clock.advance(75_000);
    expect(taints(world)).toEqual([]);
    expect(claims(world).map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    await world.stop();
  });

  it("stays, without repeated attempts, when the NodePool limit allows no replacement", async () => {
    const world = await driftedNode({ limits: { cpu: "3" } });
    await world.clock.advance(65_000);
    expect(claims(world).map(({ metadata }) => metadata.name)).toEqual(["a"]);
    const failed = world.lines.filter((line) => line.includes("failed starting a disruption"));
    expect(failed.length).toBeLessThan(3);
    await world.stop();
  });

  it.each([
    ["a Status", () => ({ status: "Success" })],
    ["the claim as it is being deleted", (one: NodeClaim) => one],
  ])("is deleted again if a deletion is answered with %s and not done", async (_, answer) => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    const { delete: remove } = world.kube;
    let lost = 0;
    const losing: typeof remove = async (kind, ref, options) => {
      if (kind.kind !== "NodeClaim" || lost++ > 0) return remove(kind, ref, options);
      const one = claimOf(world, ref.name);
      const deletionTimestamp = "2026-01-05T08:00:00Z";
      return answer({ ...one, metadata: { ...one.metadata, deletionTimestamp } });
    };
    Object.assign(world.kube, { delete: losing });
    await world.join(claimOf(world, replacementOf(world).metadata.name));
    await world.clock.advance(60_000);
    expect(lost).toBeGreaterThan(1);
    expect(claims(world).map(({ metadata }) => metadata.name)).not.toContain("a");
    await world.stop();
  });

  it("stays if it fits again when its replacement is ready, and is untainted", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    world.cloud.isDrifted = async () => undefined;
    await world.join(claimOf(world, replacementOf(world).metadata.name));
    await world.clock.advance(5_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    expect(condition(claimOf(world, "a"), "DisruptionReason")).toBeUndefined();
    expect(taints(world)).toEqual([]);
    await world.stop();
  });

  it("stays while the cloud does not answer whether it still drifts, and its events say so", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    world.cloud.isDrifted = async () => {
      throw new Error("RequestLimitExceeded");
    };
    await world.join(claimOf(world, replacementOf(world).metadata.name));
    await world.clock.advance(5 * 60_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    const told = world.published.filter(({ reason }) => reason === "EndHeld");
    expect(new Set(told.map(({ object }) => object.kind))).toEqual(new Set(["NodeClaim", "Node"]));
    expect(told[0]?.message).toContain(
      "Its replacement is ready, but the cloud does not answer whether the node still drifts: RequestLimitExceeded",
    );
    world.cloud.isDrifted = async () => "Old";
    await world.clock.advance(20_000);
    expect(claims(world).map(({ metadata }) => metadata.name)).not.toContain("a");
    await world.stop();
  });

  it("is not replaced again once it fits again, although it was seen as drifted minutes ago", async () => {
    const world = await driftedNode();
    await world.clock.advance(11_000);
    world.cloud.isDrifted = async () => undefined;
    await world.join(claimOf(world, replacementOf(world).metadata.name));
    await world.clock.advance(5_000);
    expect(condition(claimOf(world, "a"), "Drifted")).toBeUndefined();
    await world.clock.advance(240_000);
    expect(taints(world)).toEqual([]);
    const launched = world.published.filter(({ reason }) => reason === "DisruptionLaunching");
    expect(new Set(launched.map(({ message }) => message)).size).toBe(1);
    await world.stop();
  });

  it("loses its Drifted condition when the cloud no longer reports it as drifted", async () => {
    const world = await driftedNode({ limits: { cpu: "3" } });
    await world.clock.advance(2_000);
    expect(isTrue(claimOf(world, "a"), "Drifted")).toBe(true);
    world.cloud.isDrifted = async () => undefined;
    await world.clock.advance(6 * 60_000);
    expect(condition(claimOf(world, "a"), "Drifted")).toBeUndefined();
    await world.stop();
  });
});

describe("a node in use", () => {
  it("gets an Unconsolidatable event that says why, at most every 15 minutes", async () => {
    const world = await driftedNode({ drifted: false });
    await world.clock.advance(10 * 60_000);
    const told = world.published.filter(({ reason }) => reason === "Unconsolidatable");
    expect(told.map(({ message }) => message)).toContain("Can't replace with a cheaper node");
    expect(told[0]?.dedupeMs).toBe(15 * 60_000);
    expect(claims(world)).toHaveLength(1);
    await world.stop();
  });
});

describe("a disruption command that a crash interrupted", () => {
  /** Simulates a restart with a second process on the same cluster. */
  async function restarted(world: FakeWorld): Promise<FakeWorld> {
    await world.stop();
    const next = fakeWorld({}, world);
    await next.run(...allControllers(next));
    return next;
  }

  it("continues after a restart when its replacements exist: none is created twice", async () => {
    const before = await driftedNode();
    await before.clock.advance(11_000);
    const replacement = replacementOf(before);
    const world = await restarted(before);
    await world.clock.advance(30_000);
    expect(claims(world)).toHaveLength(2);
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    expect(world.lines.filter((line) => line.includes("resuming a disruption"))).toHaveLength(1);
    await world.join(claimOf(world, replacement.metadata.name));
    await world.clock.advance(5_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeDefined();
    await world.stop();
  });

  it("keeps the back-off of its NodePool after a restart, when its replacement failed before", async () => {
    const before = await driftedNode({
      before: ({ cloud }) => cloud.refusals.push(new InsufficientCapacityError("no room")),
    });
    await before.clock.advance(15_000);
    expect(taints(before)).toEqual([]);
    const world = await restarted(before);
    await world.clock.advance(40_000);
    expect([world.cloud.creates, taints(world)]).toEqual([1, []]);
    await world.clock.advance(40_000);
    expect([world.cloud.creates, taints(world)]).toEqual([2, ["karpenter.sh/disrupted"]]);
    await world.stop();
  });

  it("creates no further NodeClaims for its pods after a restart", async () => {
    const before = await narrow();
    await before.clock.advance(11_000);
    expect(claims(before)).toHaveLength(3);
    const world = await restarted(before);
    await world.clock.advance(60_000);
    expect(claims(world)).toHaveLength(3);
    await world.stop();
  });

  it("is rolled back after a restart when a replacement is missing", async () => {
    const before = await driftedNode();
    await before.clock.advance(11_000);
    await before.stop();
    const { name } = replacementOf(before).metadata;
    before.api.change(NODE_CLAIM, name, { metadata: { finalizers: [] } });
    await before.api.delete(NODE_CLAIM, { name });
    before.cloud.isDrifted = async () => undefined;
    const world = fakeWorld({}, before);
    await world.run(...allControllers(world));
    await world.clock.advance(15_000);
    expect(taints(world)).toEqual([]);
    expect(claimOf(world, "a").metadata.annotations ?? {}).not.toHaveProperty([
      "karpenter.sh/disruption-command",
    ]);
    expect(condition(claimOf(world, "a"), "DisruptionReason")).toBeUndefined();
    await world.stop();
  });
});

describe("disruption that users hold back", () => {
  it("leaves a node untainted while its NodePool is paused, and disrupts it after that", async () => {
    const world = await driftedNode({
      before: ({ api }) =>
        api.change(NODE_POOL, "default", {
          metadata: { annotations: { "karpenter.sh/disruption-paused": "true" } },
        }),
    });
    await world.clock.advance(60_000);
    expect(taints(world)).toEqual([]);
    const told = world.published.filter(({ reason }) => reason === "DisruptionBlocked");
    expect(told.map(({ message }) => message)).toContain(
      'Voluntary disruption is paused through the "karpenter.sh/disruption-paused" annotation (NodePool=default)',
    );
    world.api.change(NODE_POOL, "default", {
      metadata: { annotations: { "karpenter.sh/disruption-paused": null } },
    });
    await world.clock.advance(15_000);
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    await world.stop();
  });

  it("replaces an expired node before it is deleted where expiry respects budgets", async () => {
    const world = await driftedNode({
      drifted: false,
      settings: { expiry: { spreadPercent: 0, respectsBudgets: true } },
    });
    world.api.change(NODE_CLAIM, "a", { spec: { expireAfter: "5m" } });
    await world.clock.advance(6 * 60_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    await world.join(claimOf(world, replacementOf(world).metadata.name));
    await world.clock.advance(5_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeDefined();
    await world.stop();
  });
});

const ASKS = { "karpenter.sh/zero-downtime": "true" };
const ASKS_NOT = { "karpenter.sh/zero-downtime": null };

describe("a disruption that was not possible, in a cluster where no object comes or goes,", () => {
  it("begins within seconds once a PodDisruptionBudget allows more disruptions", async () => {
    const guard = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "guard", namespace: "default" },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed: 1 },
    };
    const world = await driftedNode({
      limits: { cpu: "4" },
      before: async ({ api }) => {
        await api.delete(POD, { name: "app", namespace: "default" });
        for (const name of ["first", "second"])
          await api.create(POD, pod({ name, cpu: "1", nodeName: "a", labels: { app: "web" } }));
        await api.create(POD, pod({ name: "waits", cpu: "3" }));
        await api.create(POD_DISRUPTION_BUDGET, guard);
      },
    });
    await world.clock.advance(60_000);
    expect(taints(world)).toEqual([]);
    world.api.change(POD_DISRUPTION_BUDGET, "default/guard", { status: { disruptionsAllowed: 2 } });
    await world.clock.advance(12_000);
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    await world.stop();
  });

  it.each([
    ["no longer has the annotation", { metadata: { annotations: ASKS_NOT } }, ASKS, {}],
    ["is paused, and has the annotation", { spec: { paused: true } }, ASKS, {}],
    ["is paused, and only the pod has the annotation", { spec: { paused: true } }, {}, ASKS],
  ])(
    "begins within seconds once the Deployment of a zero-downtime pod %s",
    async (_, change, annotations, ofPod) => {
      const world = await driftedNode({
        limits: { cpu: "4" },
        before: async ({ api }) => {
          await api.delete(POD, { name: "app", namespace: "default" });
          await api.create(DEPLOYMENT, deployed(annotations, ofPod));
          await api.create(POD, rolledOut("a", ofPod));
          await api.create(POD, pod({ name: "waits", cpu: "3" }));
        },
      });
      await world.clock.advance(60_000);
      expect(taints(world)).toEqual([]);
      world.api.change(DEPLOYMENT, "default/web", change);
      await world.clock.advance(12_000);
      expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
      await world.stop();
    },
  );

  it("begins within seconds once the Deployment of a pod held by a PodDisruptionBudget is zero-downtime", async () => {
    const world = await driftedNode({
      before: async ({ api }) => {
        await api.delete(POD, { name: "app", namespace: "default" });
        await api.create(DEPLOYMENT, deployed({}, {}));
        await api.create(POD, rolledOut("a", {}));
        await api.create(POD_DISRUPTION_BUDGET, {
          apiVersion: "policy/v1",
          kind: "PodDisruptionBudget",
          metadata: { name: "guard", namespace: "default" },
          spec: { selector: { matchLabels: { app: "web" } } },
          status: { disruptionsAllowed: 0 },
        });
      },
    });
    await world.clock.advance(60_000);
    expect(taints(world)).toEqual([]);
    world.api.change(DEPLOYMENT, "default/web", {
      metadata: { annotations: ASKS },
    });
    await world.clock.advance(12_000);
    expect(taints(world)).toEqual(["karpenter.sh/disrupted"]);
    await world.stop();
  });

  const held = pod({
    name: "held",
    cpu: "500m",
    nodeName: "b",
    annotations: { "karpenter.sh/do-not-disrupt": "true" },
  });
  it.each<[string, (world: FakeWorld) => unknown, (world: FakeWorld) => unknown]>([
    [
      "the receiving node, which may not go itself, is past consolidateAfter",
      ({ api, clock }) => {
        api.change(NODE_POOL, "default", { spec: { disruption: { consolidateAfter: "60s" } } });
        const at = toRfc3339(clock.now() + 65_000);
        api.change(NODE_CLAIM, "b", { status: { lastPodEventTime: at } });
      },
      () => {},
    ],
    [
      "a person removes a taint from the receiving node",
      ({ api }) => api.change(NODE, "b", { spec: { taints: [MAINTENANCE] } }),
      ({ api }) => api.change(NODE, "b", { spec: { taints: [] } }),
    ],
    [
      "a person uncordons the receiving node",
      ({ api }) => api.change(NODE, "b", { spec: { unschedulable: true } }),
      ({ api }) => api.change(NODE, "b", { spec: { unschedulable: null } }),
    ],
    [
      "a pod of the receiving node was resized in place",
      ({ api }) => api.change(POD, "default/held", asking("3")),
      ({ api }) => api.change(POD, "default/held", asking("500m")),
    ],
  ])("is carried out within a minute once %s", async (_, before, after) => {
    const world = await driftedNode({
      drifted: false,
      before: async (one) => {
        await establish(one, "b", 60_000);
        await one.api.create(POD, held);
        await before(one);
      },
    });
    await world.clock.advance(2 * 60_000);
    expect(claims(world)).toHaveLength(2);
    await after(world);
    await world.clock.advance(60_000);
    expect(claims(world).map(({ metadata }) => metadata.name)).toEqual(["b"]);
    await world.stop();
  });
});

type Annotations = Readonly<Record<string, string>>;

const deployed = (annotations: Annotations, ofPod: Annotations): Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default", generation: 1, annotations },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" }, annotations: ofPod },
      spec: { containers: [] },
    },
  },
  status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1 },
});

/** A pod of the Deployment's new rollout. */
function rolledOut(nodeName: string, annotations: Annotations) {
  const made = pod({
    name: "web-1-x",
    cpu: "2",
    nodeName,
    annotations,
    labels: { app: "web", "pod-template-hash": "1" },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  });
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "web-1",
    uid: "web-1",
    controller: true,
  };
  return { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } };
}

const MAINTENANCE = { key: "maintenance", effect: "NoSchedule" };

const asking = (cpu: string) => ({
  spec: { containers: [{ name: "main", image: "pause", resources: { requests: { cpu } } }] },
});
