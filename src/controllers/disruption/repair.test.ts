// Repair of broken nodes with the real manager. They are replaced first and drained within a time limit; a node that
// recovers is kept.
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { recordOf } from "../../core/disruption/record.ts";
import { nodePool, pod } from "../../testing/builders.ts";
import { establish, FAKE_CLASS_REF } from "../../testing/established.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const MINUTE_MS = 60_000;
const DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp";
const REPLACES = "karpenter.sh/replacement-for-command";
const ANY = { source: ".*", matches: () => true };

interface Options {
  readonly nodes?: readonly string[];
  readonly budgets?: readonly { nodes: string; reasons?: readonly "Unhealthy"[] }[];
  readonly settings?: Parameters<typeof fakeWorld>[0];
}

/** A world with nodes of one pool, with pods. */
async function nodesOf(options: Options = {}): Promise<FakeWorld> {
  const { nodes = ["a", "b", "c"], budgets = [{ nodes: "100%" }], settings } = options;
  const gates = { nodeRepair: true, ...settings?.gates };
  const world = fakeWorld({ ...settings, gates });
  world.cloud.repairPolicies = [
    {
      conditionType: "Ready",
      conditionStatus: "False",
      tolerationMs: 10 * MINUTE_MS,
      priority: 0,
      action: "ReplaceNode",
    },
    {
      conditionType: "Disk",
      conditionStatus: "False",
      reasonRegex: ANY,
      tolerationMs: MINUTE_MS,
      terminationGracePeriodMs: 2 * MINUTE_MS,
      priority: 0,
      action: "ReplaceNode",
    },
  ];
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  await world.api.create(
    NODE_POOL,
    nodePool({
      spec: { disruption: { consolidateAfter: "Never", budgets } },
      template: { nodeClassRef: FAKE_CLASS_REF },
    }),
  );
  for (const name of nodes) {
    await establish(world, name, 60 * MINUTE_MS);
    await world.api.create(POD, pod({ name: `app-${name}`, cpu: "3", nodeName: name }));
  }
  await world.run(...allControllers(world));
  return world;
}

function report(world: FakeWorld, name: string, disk: "True" | "False"): void {
  const lastTransitionTime = toRfc3339(world.clock.now());
  const conditions = [
    { type: "Ready", status: "True", lastTransitionTime },
    { type: "Disk", status: disk, reason: "ReadOnly", lastTransitionTime },
  ];
  world.api.change(NODE, name, { status: { conditions } });
}

const claimOf = (world: FakeWorld, name: string) => world.api.find(NODE_CLAIM, name) as NodeClaim;
const taints = (world: FakeWorld, name: string) =>
  (world.api.find(NODE, name)?.spec?.taints ?? []).map(({ key }) => key);
const newClaims = (world: FakeWorld) =>
  world.api.all(NODE_CLAIM).filter(({ metadata }) => metadata.name.length > 1);
const told = (world: FakeWorld, wanted: string) =>
  world.published.filter(({ reason }) => reason === wanted);

describe("node repair", () => {
  it("replaces an unhealthy node first, then drains it within the policy's termination grace period", async () => {
    const world = await nodesOf({ nodes: ["a"] });
    report(world, "a", "False");
    await world.clock.advance(50_000);
    expect(newClaims(world)).toEqual([]);
    await world.clock.advance(30_000);
    expect(taints(world, "a")).toEqual(["karpenter.sh/disrupted"]);
    expect(condition(claimOf(world, "a"), "DisruptionReason")).toMatchObject({
      status: "True",
      reason: "Unhealthy",
    });
    expect(recordOf(claimOf(world, "a"))?.graceMs).toBe(2 * MINUTE_MS);
    const [replacement] = newClaims(world) as [NodeClaim];
    await world.clock.advance(MINUTE_MS);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    expect(claimOf(world, "a").metadata.annotations?.[DEADLINE]).toBeUndefined();
    await world.join(claimOf(world, replacement.metadata.name));
    await world.clock.advance(4_000);
    const { deletionTimestamp, annotations } = claimOf(world, "a").metadata;
    expect(deletionTimestamp).toBeDefined();
    const boundMs = (fromRfc3339(annotations?.[DEADLINE]) ?? 0) - world.clock.now();
    expect(boundMs).toBeGreaterThan(MINUTE_MS);
    expect(boundMs).toBeLessThanOrEqual(2 * MINUTE_MS);
    const labels = "nodepool=default,capacity_type=on-demand";
    expect(world.measured.get(`involuntary_ends_total{act=unhealthy}`)).toBe(1);
    expect(
      world.measured.get(
        `nodeclaims_unhealthy_disrupted_total{condition=disk,${labels},image_id=,termination_mode=eventual}`,
      ),
    ).toBe(1);
    expect(
      world.measured.get(
        `nodeclaims_disrupted_total{reason=unhealthy,${labels},consolidation_policy=,termination_mode=eventual}`,
      ),
    ).toBe(1);
    expect(world.lines.find((line) => line.includes("selected repair policy"))).toContain(
      '"condition":"Disk","status":"False","reason":"ReadOnly","reason-regex":".*","fallback":false,"action":"ReplaceNode"',
    );
    expect(world.lines.find((line) => line.includes("selected repair policy"))).toContain(
      '"termination-grace-period":"2m0s","termination-grace-period-condition":"Disk"',
    );
    await world.stop();
  });

  it("writes a debug line when a node begins to match a policy, and when it stops", async () => {
    const world = await nodesOf({ nodes: ["a"] });
    const lines = () => world.lines.filter((line) => /match(?:ed|es any) repair policy/.test(line));
    expect(lines()).toEqual([]);
    report(world, "a", "False");
    const dueAt = toRfc3339(world.clock.now() + MINUTE_MS);
    await world.clock.advance(1_000);
    // A heartbeat changes nothing that policies read.
    world.api.change(NODE, "a", { metadata: { labels: { beat: "1" } } });
    await world.clock.advance(1_000);
    expect(lines()).toEqual([
      `debug matched repair policy {"controller":"state.node","Node":{"name":"a"},"condition":"Disk","status":"False","reason":"ReadOnly","reason-regex":".*","fallback":false,"action":"ReplaceNode","eligible-at":"${dueAt}","termination-grace-period":"2m0s"}`,
    ]);
    report(world, "a", "True");
    await world.clock.advance(1_000);
    expect(lines().slice(1)).toEqual([
      'debug no longer matches any repair policy {"controller":"state.node","Node":{"name":"a"}}',
    ]);
    await world.stop();
  });

  it("writes no such line while repair is off", async () => {
    const world = await nodesOf({ nodes: ["a"], settings: { gates: { nodeRepair: false } } });
    report(world, "a", "False");
    await world.clock.advance(1_000);
    expect(world.lines.filter((line) => line.includes("repair policy"))).toEqual([]);
    await world.stop();
  });

  it("keeps an earlier termination timestamp of the NodeClaim", async () => {
    const world = await nodesOf({ nodes: ["a"] });
    const earlier = toRfc3339(world.clock.now() + 90_000);
    world.api.change(NODE_CLAIM, "a", { metadata: { annotations: { [DEADLINE]: earlier } } });
    report(world, "a", "False");
    await world.clock.advance(75_000);
    const [replacement] = newClaims(world) as [NodeClaim];
    await world.join(claimOf(world, replacement.metadata.name));
    await world.clock.advance(4_000);
    expect(claimOf(world, "a").metadata.annotations?.[DEADLINE]).toBe(earlier);
    await world.stop();
  });

  it("leaves no termination timestamp on a node that the brake held and that recovered", async () => {
    const world = await nodesOf({ nodes: ["a"] });
    report(world, "a", "False");
    await world.clock.advance(75_000);
    const [replacement] = newClaims(world) as [NodeClaim];
    for (let at = 0; at < 7; at++) world.brake.take(`other-${at}`, world.clock.elapsedMs(), 1);
    await world.join(claimOf(world, replacement.metadata.name));
    await world.clock.advance(30_000);
    expect(told(world, "EndHeld").length).toBeGreaterThan(0);
    report(world, "a", "True");
    await world.clock.advance(2 * MINUTE_MS);
    const { deletionTimestamp, annotations } = claimOf(world, "a").metadata;
    expect([deletionTimestamp, annotations?.[DEADLINE]]).toEqual([undefined, undefined]);
    expect(taints(world, "a")).toEqual([]);
    await world.stop();
  });

  it.each([
    [
      "gets the do-not-repair annotation",
      ({ api }: FakeWorld) =>
        api.change(NODE, "a", {
          metadata: { annotations: { "karpenter.sh/do-not-repair": "true" } },
        }),
      "its repair is forbidden by now",
    ],
    [
      "has a newer unhealthy condition",
      (world: FakeWorld) => report(world, "a", "False"),
      "it has recovered",
    ],
  ])("keeps a node that %s before its replacement joins", async (_, happens, why) => {
    const world = await nodesOf({ nodes: ["a"] });
    report(world, "a", "False");
    await world.clock.advance(75_000);
    const [replacement] = newClaims(world) as [NodeClaim];
    happens(world);
    await world.join(claimOf(world, replacement.metadata.name));
    await world.clock.advance(4_000);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    expect(world.lines.join()).toContain(`leaving a node, ${why}`);
    await world.stop();
  });

  it("replaces nothing after a restart while the brake is on", async () => {
    const world = await nodesOf({ nodes: ["a"] });
    for (let at = 0; at < 7; at++) world.brake.take(`other-${at}`, world.clock.elapsedMs(), 1);
    await world.clock.advance(MINUTE_MS);
    await world.stop();
    const again = fakeWorld({ gates: { nodeRepair: true } }, world);
    await again.run(...allControllers(again));
    report(again, "a", "False");
    await again.clock.advance(5 * MINUTE_MS);
    expect(newClaims(again)).toEqual([]);
    expect(taints(again, "a")).toEqual([]);
    await again.stop();
  });

  it("untaints and keeps a node that recovers before its replacement joins", async () => {
    const world = await nodesOf({ nodes: ["a"] });
    report(world, "a", "False");
    await world.clock.advance(75_000);
    const [replacement] = newClaims(world) as [NodeClaim];
    report(world, "a", "True");
    await world.join(claimOf(world, replacement.metadata.name));
    await world.clock.advance(4_000);
    expect(taints(world, "a")).toEqual([]);
    expect(claimOf(world, "a").metadata.deletionTimestamp).toBeUndefined();
    expect(condition(claimOf(world, "a"), "DisruptionReason")).toBeUndefined();
    expect(world.lines.join()).toContain("leaving a node, it has recovered");
    await world.stop();
  });

  it("respects a budget for the reason Unhealthy: one node at a time", async () => {
    const nodes = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    const budgets = [{ nodes: "1", reasons: ["Unhealthy"] as const }, { nodes: "100%" }];
    const world = await nodesOf({ nodes, budgets });
    for (const name of ["a", "b"]) report(world, name, "False");
    await world.clock.advance(5 * MINUTE_MS);
    const closed = nodes.filter((name) => taints(world, name).includes("karpenter.sh/disrupted"));
    expect([closed, newClaims(world).length]).toEqual([["a"], 1]);
    await world.stop();
  });

  it("stops while more than 20% of a NodePool's nodes are unhealthy, with events and a condition", async () => {
    const world = await nodesOf();
    for (const name of ["a", "b"]) report(world, name, "False");
    await world.clock.advance(5 * MINUTE_MS);
    expect(newClaims(world)).toEqual([]);
    const objects = told(world, "NodeRepairBlocked").map(({ object }) => object);
    expect(new Set(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`))).toEqual(
      new Set(["Node/a", "NodeClaim/a", "Node/b", "NodeClaim/b", "NodePool/default"]),
    );
    expect(told(world, "NodeRepairBlocked")[0]?.message).toBe(
      'more than 20% of nodes in nodepool "default" are unhealthy',
    );
    const stopped = () =>
      condition(world.api.find(NODE_POOL, "default") as KubeObject, "RepairStopped")?.reason;
    expect(stopped()).toBe("TooManyUnhealthy");
    report(world, "b", "True");
    await world.clock.advance(30_000);
    expect(stopped()).toBeUndefined();
    expect(taints(world, "a")).toEqual(["karpenter.sh/disrupted"]);
    await world.stop();
  });

  it("removes the RepairStopped condition of the NodePool once the feature gate is off", async () => {
    const world = await nodesOf();
    for (const name of ["a", "b"]) report(world, name, "False");
    await world.clock.advance(MINUTE_MS);
    const said = () =>
      condition(world.api.find(NODE_POOL, "default") as KubeObject, "RepairStopped");
    expect(said()?.status).toBe("True");
    await world.stop();
    const again = fakeWorld({}, world);
    await again.run(...allControllers(again));
    await again.clock.advance(MINUTE_MS);
    expect(said()).toBeUndefined();
    await again.stop();
  });

  it("continues after a restart, with the termination timestamp of the policy", async () => {
    const world = await nodesOf({ nodes: ["a"] });
    report(world, "a", "False");
    await world.clock.advance(75_000);
    const [replacement] = newClaims(world) as [NodeClaim];
    await world.stop();
    const again = fakeWorld({ gates: { nodeRepair: true } }, world);
    await again.run(...allControllers(again));
    await again.join(claimOf(again, replacement.metadata.name));
    await again.clock.advance(4_000);
    const { deletionTimestamp, annotations } = claimOf(again, "a").metadata;
    expect([deletionTimestamp, annotations?.[DEADLINE]]).toEqual([
      expect.any(String),
      expect.any(String),
    ]);
    await again.stop();
  });

  it("leaves a broken node to the legacy controller if that is on, and does nothing if the gate is off", async () => {
    for (const gates of [{ nodeRepair: false }, { nodeRepair: true, legacyNodeRepair: true }]) {
      const world = await nodesOf({ nodes: ["a"], settings: { gates } });
      report(world, "a", "False");
      await world.clock.advance(3 * MINUTE_MS);
      expect(world.lines.filter((line) => line.includes("selected repair policy"))).toEqual([]);
      expect(newClaims(world).map(({ metadata }) => metadata.annotations)).toEqual(
        newClaims(world).map(() => expect.not.objectContaining({ [REPLACES]: expect.anything() })),
      );
      expect(world.api.find(NODE_CLAIM, "a") === undefined).toBe(gates.nodeRepair);
      await world.stop();
    }
  });
});
