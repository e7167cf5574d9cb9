// The disruption loop and its queue with the real manager: validation, rollback, and nodes that must not be touched.
import { describe, expect, it } from "vitest";
import { NAMESPACE } from "../../apis/core/kinds.ts";
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { type Clock, toRfc3339 } from "../../base/clock.ts";
import type { InstanceType } from "../../core/cloudprovider/instance-type.ts";
import { movesOn } from "../../core/disruption/moves.ts";
import { outcomeOn } from "../../core/disruption/outcome.ts";
import { recordOf } from "../../core/disruption/record.ts";
import { KubeError } from "../../kube/errors.ts";
import { node, nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS, kubeSystem, ofCluster } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

/**
 * A world with two empty nodes, an hour old, of a pool with WhenEmpty. `onA`: annotations of node a's claim.
 * `claimOfA`: the name of that claim.
 */
async function twoEmptyNodes(
  budget = "100%",
  clockOf?: ClockOf,
  onA?: Readonly<Record<string, string>>,
  claimOfA = "a",
): Promise<FakeWorld> {
  const world = fakeWorld();
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  await world.api.create(
    NODE_POOL,
    nodePool({
      spec: {
        disruption: {
          consolidationPolicy: "WhenEmpty",
          consolidateAfter: "0s",
          budgets: [{ nodes: budget }],
        },
      },
      template: { nodeClassRef: CLASS_REF },
    }),
  );
  await establish(world, "a", onA, claimOfA);
  await establish(world, "b");
  const clock = clockOf?.(world) ?? world.clock;
  await world.run(...allControllers({ ...world, clock }));
  return world;
}

type ClockOf = (world: FakeWorld) => Clock;

/** A clock on which all work is slow. `happens` runs when other controllers first get to run. */
const slowly =
  (happens: (world: FakeWorld) => Promise<unknown> | undefined): ClockOf =>
  (world) => {
    let asked = 0;
    return {
      now: () => world.clock.now() + 21 * asked,
      elapsedMs: () => world.clock.elapsedMs() + 21 * asked,
      turnMs: () => 21 * ++asked,
      after: (delayMs, callback) => world.clock.after(delayMs, callback),
      sleep: async (delayMs) => {
        if (delayMs === 0) await happens(world);
        await world.clock.sleep(delayMs);
      },
    };
  };

async function establish(
  world: FakeWorld,
  name: string,
  annotations: Readonly<Record<string, string>> = {},
  claimName = name,
): Promise<void> {
  const at = toRfc3339(world.clock.now() - 3_600_000);
  const conditions = ["Launched", "Registered", "Initialized", "Consolidatable", "Ready"].map(
    (type) => ({ type, status: "True" as const, reason: type, lastTransitionTime: at }),
  );
  const labels = {
    "karpenter.sh/nodepool": "default",
    "karpenter.test.sh/testnodeclass": "default",
    "node.kubernetes.io/instance-type": "c-4x",
    "karpenter.sh/capacity-type": "on-demand",
  };
  const metadata = {
    name: claimName,
    labels,
    annotations,
    creationTimestamp: at,
    finalizers: ["karpenter.sh/termination"],
  };
  const claim: NodeClaim = {
    metadata,
    spec: { requirements: [], nodeClassRef: CLASS_REF, expireAfter: "720h" },
    status: { providerID: `test://${claimName}`, nodeName: name, conditions },
  };
  world.cloud.instances.set(`test://${claimName}`, await world.api.create(NODE_CLAIM, claim));
  const registered = { "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" };
  const joined = node({
    name,
    providerId: `test://${claimName}`,
    labels: { ...labels, ...registered },
  });
  const finalizers = metadata.finalizers;
  const uid = `uid-${claimName}`;
  await world.api.create(NODE, { ...joined, metadata: { ...joined.metadata, uid, finalizers } });
}

/** Removes Node `a` and its claim `a1` as soon as the nodes of a command are tainted, then runs `meanwhile`. */
function losesNodeMeanwhile(world: FakeWorld, meanwhile: () => Promise<void>): { lost: boolean } {
  const seen = { lost: false };
  const forced = { metadata: { finalizers: [] } };
  for (const verb of ["patch", "update", "updateStatus"] as const) {
    const write = world.kube[verb] as (...asked: unknown[]) => Promise<unknown>;
    const watched = async (kind: Kind, ref: { readonly name?: string }, ...more: unknown[]) => {
      const written = await write.apply(world.kube, [kind, ref, ...more]);
      const isClosed = (name: string) =>
        recordOf(world.api.find(NODE_CLAIM, name) as NodeClaim) !== undefined &&
        condition(world.api.find(NODE_CLAIM, name) as NodeClaim, "DisruptionReason") !== undefined;
      if (seen.lost || !["a1", "b"].every(isClosed)) return written;
      seen.lost = true;
      for (const [kind, name] of [
        [NODE, "a"],
        [NODE_CLAIM, "a1"],
      ] as const) {
        world.api.change(kind, name, forced);
        await world.api.delete(kind, { name });
      }
      world.cloud.instances.delete("test://a1");
      await meanwhile();
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
      return written;
    };
    Object.assign(world.kube, { [verb]: watched });
  }
  return seen;
}

/** Changes prices so that one node of twice the size becomes the cheapest. */
function eightCostLittle({ cloud }: FakeWorld): void {
  const before = cloud.instanceTypes;
  let list: readonly InstanceType[] | undefined;
  cloud.instanceTypes = (pool) => {
    list ??= before(pool).map((type) => {
      if (type.name !== "c-8x") return type;
      const offerings = type.offerings.map((one) => ({ ...one, priceMicroUsd: 50_000 }));
      return { ...type, offerings };
    });
    return list;
  };
}

const left = (world: FakeWorld) =>
  world.api
    .all(NODE_CLAIM)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);

describe("the disruption loop", () => {
  it.each([true, false])(
    "does not mark for deletion a new Node with the name of a deleted Node (created at once: %s)",
    async (isSoon) => {
      const world = await twoEmptyNodes("100%", undefined, undefined, "a1");
      const comesAgain = () => establish(world, "a", {}, "a2");
      const seen = losesNodeMeanwhile(world, async () => {
        if (isSoon) await comesAgain();
      });
      await world.clock.advance(16_000);
      expect(seen.lost).toBe(true);
      if (!isSoon) await comesAgain();
      await world.clock.advance(1_000);
      expect([
        world.cluster.node("a")?.claim?.metadata.name,
        world.cluster.node("a")?.deleting,
      ]).toEqual(["a2", false]);
      await world.stop();
    },
  );

  it("validates and deletes empty nodes in time, even if the clock was set back by an hour", async () => {
    const world = await twoEmptyNodes();
    await world.clock.advance(5_000);
    world.clock.setBack(3_600_000);
    await world.clock.advance(30_000);
    expect(left(world)).toEqual([]);
    await world.stop();
  });

  it("reads changed prices after five minutes, even if the clock was set back by an hour", async () => {
    const world = await twoEmptyNodes();
    const disruption = { consolidationPolicy: "WhenEmptyOrUnderutilized" } as const;
    await world.kube.patch(
      NODE_POOL,
      { name: "default" },
      { type: "merge", body: { spec: { disruption } } },
    );
    for (const nodeName of ["a", "b"])
      await world.api.create(POD, pod({ name: `on-${nodeName}`, nodeName, cpu: "3" }));
    await world.clock.advance(60_000);
    eightCostLittle(world);
    world.clock.setBack(3_600_000);
    await world.clock.advance(180_000);
    expect(world.cloud.creates).toBe(0);
    await world.clock.advance(120_000);
    expect(world.cloud.creates).toBe(1);
    await world.stop();
  });

  it("counts and publishes each disrupted node once, though deleting another NodeClaim fails repeatedly", async () => {
    const world = await twoEmptyNodes();
    const erase = world.kube.delete;
    let refusals = 0;
    const refuse: typeof erase = (kind, ref, ...more) => {
      if (kind.kind !== "NodeClaim" || ref.name !== "b" || refusals === 3)
        return erase(kind, ref, ...more);
      refusals++;
      return Promise.reject(new KubeError(500, undefined, "a webhook is away"));
    };
    Object.assign(world.kube, { delete: refuse });
    await world.clock.advance(30_000);
    expect([refusals, left(world)]).toEqual([3, []]);
    const counted = [...world.measured].filter(([key]) =>
      key.includes("nodeclaims_disrupted_total"),
    );
    expect(counted.map(([, count]) => count)).toEqual([2]);
    const told = world.published.filter(({ message }) => message.startsWith("Disrupting "));
    const about = told.map(({ object: { kind, metadata } }) => `${kind} ${metadata.name}`);
    expect(about.sort()).toEqual(["Node a", "Node b", "NodeClaim a", "NodeClaim b"]);
    await world.stop();
  });

  it("records no list of nodes on the NodeClaims of a command without replacements", async () => {
    const world = await twoEmptyNodes();
    await world.clock.advance(16_000);
    expect(left(world)).toEqual([]);
    const records = world.api.all(NODE_CLAIM).map(recordOf);
    expect(records.map((record) => record?.nodes)).toEqual([[], []]);
    await world.stop();
  });

  it("validates after fifteen seconds and keeps a node on which a pod runs by then", async () => {
    const world = await twoEmptyNodes();
    await world.clock.advance(14_000);
    expect(left(world)).toEqual(["a", "b"]);
    await world.api.create(POD, pod({ name: "late", nodeName: "a" }));
    await world.clock.advance(2_000);
    expect(left(world)).toEqual(["a"]);
    expect(
      condition(world.api.find(NODE_CLAIM, "b") as NodeClaim, "DisruptionReason"),
    ).toMatchObject({
      status: "True",
      reason: "Empty",
    });
    await world.stop();
  });

  it("keeps and untaints an empty node if the API server has pods there that the mirror lacks", async () => {
    const world = await twoEmptyNodes();
    const { list } = world.kube;
    const unseen = pod({ name: "unseen", nodeName: "a" });
    const whole = (kind: Kind, options: { fieldSelector?: string } = {}) =>
      options.fieldSelector === "spec.nodeName=a"
        ? Promise.resolve({ items: [unseen], resourceVersion: "1" })
        : list(kind, options);
    Object.assign(world.kube, { list: whole });
    await world.clock.advance(30_000);
    expect(left(world)).toEqual(["a"]);
    const a = world.api.find(NODE, "a") as Node;
    expect(a.metadata.deletionTimestamp).toBeUndefined();
    expect(a.spec?.taints ?? []).toEqual([]);
    expect(condition(world.api.find(NODE_CLAIM, "a") as NodeClaim, "DisruptionReason")).toBe(
      undefined,
    );
    expect(world.lines.join("\n")).toContain("leaving a node, pods run there");
    await world.stop();
  });

  it("evaluates a node as soon as it is past consolidateAfter, also while another awaits validation", async () => {
    const world = await twoEmptyNodes();
    const spec = { disruption: { consolidateAfter: "20s" } };
    const seenNow = (name: string) => {
      const status = { lastPodEventTime: toRfc3339(world.clock.now()) };
      return world.kube.patch(NODE_CLAIM, { name }, { type: "merge", body: { status } }, "status");
    };
    await world.clock.advance(1_000);
    await world.kube.patch(NODE_POOL, { name: "default" }, { type: "merge", body: { spec } });
    await seenNow("a");
    await world.clock.advance(4_000);
    await seenNow("b");
    // The nodes have been empty for 20 s at second 21 and 25. A round runs one second later, validation 15 s after
    // that.
    await world.clock.advance(31_900);
    expect(left(world)).toEqual(["a", "b"]);
    await world.clock.advance(400);
    expect(left(world)).toEqual(["b"]);
    await world.clock.advance(4_000);
    expect(left(world)).toEqual([]);
    await world.stop();
  });

  it("evaluates emptiness only between two rounds, and single-node consolidation in the next round", async () => {
    const world = await twoEmptyNodes("0");
    const consolidationPolicy = "WhenEmptyOrUnderutilized";
    const spec = { disruption: { consolidateAfter: "20s", consolidationPolicy } };
    const body = { status: { lastPodEventTime: toRfc3339(world.clock.now() + 1_000) } };
    await world.clock.advance(1_000);
    await world.kube.patch(NODE_POOL, { name: "default" }, { type: "merge", body: { spec } });
    await world.kube.patch(NODE_CLAIM, { name: "a" }, { type: "merge", body }, "status");
    const looks = (type: string) =>
      `voluntary_disruption_decision_evaluation_duration_seconds{reason=${type === "empty" ? type : "underutilized"},consolidation_type=${type}}`;
    await world.clock.advance(20_500);
    for (const type of ["empty", "single"]) expect(world.measured.delete(looks(type))).toBe(true);
    await world.api.create(POD, pod({ name: "late", nodeName: "b" }));
    // Node a has been empty for 20.5 s. The next check runs in half a second, the next round at 30 s.
    await world.clock.advance(4_000);
    expect([looks("empty"), looks("single")].map((one) => world.measured.has(one))).toEqual([
      true,
      false,
    ]);
    await world.clock.advance(6_000);
    expect(world.measured.has(looks("single"))).toBe(true);
    await world.stop();
  });

  it("does not disrupt a drifted node annotated with do-not-disrupt while its command is computed", async () => {
    let isProtected = false;
    const world = await twoEmptyNodes(
      "100%",
      slowly(({ kube, measured }) => {
        const isAsked = measured.get("voluntary_disruption_eligible_nodes{reason=drifted}") === 1;
        if (isProtected || !isAsked) return undefined;
        isProtected = true;
        const annotations = { "karpenter.sh/do-not-disrupt": "true" };
        const body = { metadata: { annotations } };
        return kube.patch(NODE, { name: "a" }, { type: "merge", body });
      }),
    );
    await world.api.create(POD, pod({ name: "used", nodeName: "a" }));
    Object.assign(world.cloud, {
      isDrifted: async ({ metadata }: NodeClaim) => (metadata.name === "a" ? "Old" : undefined),
    });
    await world.clock.advance(360_000);
    expect(isProtected).toBe(true);
    const { conditions } = (world.api.find(NODE_CLAIM, "a") as NodeClaim).status ?? {};
    expect(conditions?.map(({ type }) => type)).toContain("Drifted");
    expect(conditions?.map(({ type }) => type)).not.toContain("DisruptionReason");
    expect(world.lines.some((line) => line.includes("putting off a disruption"))).toBe(true);
    expect(world.published.map(({ reason }) => reason)).not.toContain("ConsolidationRejected");
    await world.stop();
  });

  it("copies the disruption-moves annotation to another NodeClaim when its NodeClaim is deleted", async () => {
    const move = {
      command: "c",
      reason: "Underutilized",
      at: toRfc3339(fakeWorld().clock.now()),
      nodes: ["gone"],
      priceMicroUsd: 9,
      savesMicroUsd: 3,
      replacements: 0,
      pods: { owner: 2 },
    } as const;
    const annotations = { "karpenter.sh/disruption-moves": JSON.stringify([move]) };
    const world = await twoEmptyNodes("0", undefined, annotations);
    const borne = () => movesOn(world.api.find(NODE_CLAIM, "b") as NodeClaim);
    await world.clock.advance(30_000);
    expect(borne()).toEqual([]);
    await world.kube.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(30_000);
    expect(borne()).toEqual([move]);
    await world.stop();
  });

  it("writes the outcome of moves recorded on NodeClaims to the NodePool, once it is known", async () => {
    const startedMs = fakeWorld().clock.now() - 8 * 60_000;
    const move = {
      command: "c",
      reason: "Underutilized",
      at: toRfc3339(startedMs),
      nodes: ["gone"],
      priceMicroUsd: 300_000,
      savesMicroUsd: 100_000,
      replacements: 1,
      pods: { owner: 2 },
      pools: ["nodepool/default"],
    } as const;
    const world = await twoEmptyNodes("0", undefined, {
      "karpenter.sh/disruption-moves": JSON.stringify([move]),
      "karpenter.sh/replacement-for-command": "c",
    });
    const told = () => outcomeOn(world.api.find(NODE_POOL, "default") as KubeObject);
    await world.clock.advance(60_000);
    expect(told()).toBeUndefined();
    await world.clock.advance(90_000);
    // The launched instance type costs 0.4 per hour.
    expect(told()).toEqual({
      at: toRfc3339(startedMs + 10 * 60_000),
      until: move.at,
      predictedMicroUsd: 100_000,
      realisedMicroUsd: -100_000,
      overrun: 1,
      failures: 1,
    });
    expect(world.lines.filter((line) => line.includes("no-repack-until"))).toHaveLength(1);
    await world.stop();
  });

  it("disrupts nothing that a budget forbids, with events on the NodePool, Nodes and NodeClaims", async () => {
    const world = await twoEmptyNodes("0");
    await world.clock.advance(60_000);
    expect(left(world)).toEqual(["a", "b"]);
    const told = world.published.filter(({ reason }) => reason === "DisruptionBlocked");
    expect(told[0]?.message).toBe(
      "No allowed disruptions for disruption reason Empty due to blocking budget",
    );
    // Events on each node and claim are published at most once an hour.
    const held = told.filter(({ object }) => object.kind === "Node");
    const said = held.map(({ object, message }) => `${object.metadata.name}: ${message}`);
    expect(held.every(({ dedupeMs }) => dedupeMs === 3_600_000)).toBe(true);
    expect([...new Set(said)]).toEqual([
      "a: Budgets allow no disruption for reason Empty",
      "b: Budgets allow no disruption for reason Empty",
    ]);
    await world.stop();
  });

  it("publishes a blocking budget only while another node waits for it", async () => {
    const told = (world: FakeWorld) =>
      world.published
        .filter(
          ({ object, reason }) => object.kind === "NodePool" && reason === "DisruptionBlocked",
        )
        .map(({ message }) => message);
    const gauge = (world: FakeWorld) =>
      world.measured.get("nodepools_allowed_disruptions{nodepool=default,reason=empty}");
    const all = await twoEmptyNodes("100%");
    await all.clock.advance(60_000);
    expect(left(all)).toEqual([]);
    expect(told(all)).toEqual([]);
    await all.stop();
    const oneByOne = await twoEmptyNodes("1");
    await oneByOne.clock.advance(16_000);
    expect(left(oneByOne)).toHaveLength(1);
    await oneByOne.clock.advance(10_000);
    expect(new Set(told(oneByOne))).toEqual(
      new Set([
        "No allowed disruptions for disruption reason Empty due to blocking budget, until nodes that are not ready or on their way out are done",
      ]),
    );
    // As in upstream, the gauge shows what the budget allows, not what is left of it.
    expect(gauge(oneByOne)).toBe(1);
    await oneByOne.stop();
  });

  it("publishes until when a pod's do-not-disrupt annotation blocks the disruption of its node", async () => {
    const world = await twoEmptyNodes();
    const startTime = toRfc3339(world.clock.now());
    const annotations = { "karpenter.sh/do-not-disrupt": "2h" };
    const status = { phase: "Running" as const, startTime };
    await world.api.create(POD, pod({ name: "busy", nodeName: "a", annotations, status }));
    await world.clock.advance(30_000);
    const told = world.published.filter(({ reason }) => reason === "DisruptionBlocked");
    expect(told[0]?.message).toBe(
      `Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/busy), until ${toRfc3339(world.clock.now() - 30_000 + 7_200_000)}`,
    );
    await world.stop();
  });

  it("deletes empty nodes when instance types of the NodePool cannot be listed, and logs that once", async () => {
    const world = await twoEmptyNodes();
    world.cloud.instanceTypes = () => {
      throw new Error("no such class");
    };
    await world.clock.advance(60_000);
    expect(left(world)).toEqual([]);
    const told = world.lines.filter((line) => line.includes("failed listing instance types"));
    expect(told.filter((line) => line.startsWith("error"))).toHaveLength(1);
    expect(told).toHaveLength(1);
    await world.stop();
  });

  it("removes the disruption taint of a node without a running command", async () => {
    const world = await twoEmptyNodes("0");
    world.api.change(NODE, "a", {
      spec: { taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] },
    });
    await world.clock.advance(11_000);
    expect(world.api.find(NODE, "a")?.spec?.taints).toEqual([]);
    await world.stop();
  });

  it("S2-25: does not disrupt a node with the do-not-disrupt annotation until that is removed", async () => {
    const world = await twoEmptyNodes();
    const annotated = { metadata: { annotations: { "karpenter.sh/do-not-disrupt": "true" } } };
    world.api.change(NODE, "a", annotated);
    await world.clock.advance(600_000);
    expect(left(world)).toEqual(["a"]);
    world.api.change(NODE, "a", { metadata: { annotations: null } });
    await world.clock.advance(40_000);
    expect(left(world)).toEqual([]);
    await world.stop();
  });
});

describe("garbage collection", () => {
  it("ends instances without a NodeClaim, and deletes NodeClaims without an instance", async () => {
    const world = await twoEmptyNodes("0");
    const claim = world.api.find(NODE_CLAIM, "a") as NodeClaim;
    await world.api.create(NAMESPACE, kubeSystem("this-cluster"));
    for (const [id, cluster] of [
      ["test://leaked", "this-cluster"],
      ["test://of-another", "another-cluster"],
    ] as const) {
      const instance = { ...claim, status: { providerID: id } };
      world.cloud.instances.set(id, ofCluster(instance, cluster));
    }
    world.cloud.instances.set("test://of-unknown", {
      ...claim,
      status: { providerID: "test://of-unknown" },
    });
    world.cloud.instances.delete("test://b");
    world.api.change(NODE, "b", { status: { conditions: [{ type: "Ready", status: "Unknown" }] } });
    await world.clock.advance(130_000);
    expect([...world.cloud.instances.keys()].sort()).toEqual([
      "test://a",
      "test://of-another",
      "test://of-unknown",
    ]);
    expect(world.lines.join("\n")).toContain("tag it karpenter.sh/cluster-uid=this-cluster");
    expect(world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.name)).toEqual(["a"]);
    await world.stop();
  });

  it("keeps a NodeClaim whose instance is not listed while getting that instance fails", async () => {
    const world = await twoEmptyNodes("0");
    const { get } = world.cloud;
    Object.assign(world.cloud, { get: () => Promise.reject(new Error("its zone is impaired")) });
    world.cloud.instances.delete("test://b");
    world.api.change(NODE, "b", { status: { conditions: [{ type: "Ready", status: "Unknown" }] } });
    const names = () => world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.name);
    await world.clock.advance(130_000);
    expect(names()).toEqual(["a", "b"]);
    Object.assign(world.cloud, { get });
    await world.clock.advance(130_000);
    expect(names()).toEqual(["a"]);
    await world.stop();
  });
});
