import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodePool, pod } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const MINUTE_MS = 60_000;

/** A world with claims whose nodes have joined. Repair waits ten minutes for a kubelet that does not report. */
async function joined(
  names: readonly string[],
  nodeRepair = true,
  pool: Readonly<Record<string, string>> = {},
): Promise<FakeWorld> {
  const world = fakeWorld({ gates: { nodeRepair, legacyNodeRepair: true } });
  world.cloud.endsAfter = 1_000;
  const policy = {
    conditionType: "Ready",
    tolerationMs: 10 * MINUTE_MS,
    priority: 0,
    action: "ReplaceNode",
  } as const;
  world.cloud.repairPolicies = [
    { ...policy, conditionStatus: "Unknown" },
    { ...policy, conditionStatus: "False" },
  ];
  await world.run(...allControllers(world));
  for (const name of names) {
    await world.api.create(NODE_CLAIM, {
      metadata: { name, labels: { "karpenter.test.sh/testnodeclass": "default", ...pool } },
      spec: {
        requirements: [],
        nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
      },
    });
    await world.clock.settle();
    await world.join(world.api.find(NODE_CLAIM, name) as NodeClaim);
    await world.clock.settle();
  }
  return world;
}

async function fallSilent(world: FakeWorld, name: string): Promise<void> {
  const lastTransitionTime = toRfc3339(world.clock.now());
  const conditions = [{ type: "Ready", status: "Unknown", lastTransitionTime }];
  world.api.change(NODE, `node-${name}`, { status: { conditions } });
  await world.clock.settle();
}

const deleted = (world: FakeWorld) =>
  world.api
    .all(NODE_CLAIM)
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map(({ metadata }) => metadata.name);

describe("node repair by the legacy controller", () => {
  it("deletes an unhealthy node after its policy's toleration, without a grace period", async () => {
    const world = await joined(["a", "b"]);
    const held = { "karpenter.sh/do-not-disrupt": "true" };
    await world.api.create(POD, pod({ name: "held", nodeName: "node-a", annotations: held }));
    await fallSilent(world, "a");
    const dueAt = toRfc3339(world.clock.now() + 10 * MINUTE_MS);
    await world.clock.advance(9 * MINUTE_MS);
    expect(deleted(world)).toEqual([]);
    const told = world.published.filter(({ reason }) => reason === "NodeRepairPending");
    expect(new Set(told.map(({ object }) => object.kind))).toEqual(new Set(["Node", "NodeClaim"]));
    expect(told[0]?.message).toContain(`node repair ends the node at ${dueAt} unless it recovers`);
    // Nodes change all the time, but the event is published only once.
    expect(told.map(({ dedupeMs }) => dedupeMs)).toEqual(told.map(() => 10 * MINUTE_MS));
    await world.clock.advance(2 * MINUTE_MS);
    expect(deleted(world)).toEqual(["a"]);
    const { annotations } = (world.api.find(NODE_CLAIM, "a") as NodeClaim).metadata;
    expect(annotations).toHaveProperty(["karpenter.sh/nodeclaim-termination-timestamp"]);
    const counted = [...world.measured].filter(([name]) => /unhealthy.*nodepool/.test(name));
    expect(counted.map(([name, value]) => `${name.split("{")[0]} ${value}`).sort()).toEqual([
      "nodeclaims_disrupted_total 1",
      "nodeclaims_unhealthy_disrupted_total 1",
      "pods_disruption_initiated_total 1",
    ]);
    // As upstream: the claim has no terminationGracePeriod, so all three say graceful.
    for (const [name] of counted) expect(name).toContain("termination_mode=graceful");
    await world.stop();
  });

  it("ends the drain of an unhealthy node, which a do-not-disrupt pod blocks", async () => {
    const world = await joined(["a", "b"]);
    world.cloud.endsAfter = 0;
    const held = { "karpenter.sh/do-not-disrupt": "true" };
    await world.api.create(POD, pod({ name: "held", nodeName: "node-a", annotations: held }));
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(MINUTE_MS);
    await fallSilent(world, "a");
    await world.clock.advance(9 * MINUTE_MS);
    expect(world.api.find(NODE, "node-a")).toBeDefined();
    await world.clock.advance(2 * MINUTE_MS);
    expect(world.api.all(NODE).map(({ metadata }) => metadata.name)).toEqual(["node-b"]);
    expect(world.cloud.instances.size).toBe(1);
    // The node was deleted for another reason, so repair does not count it.
    expect([...world.measured.keys()].filter((name) => name.includes("unhealthy"))).toEqual([]);
    await world.stop();
  });

  it("does not delete a node that recovers in time", async () => {
    const world = await joined(["a"]);
    await fallSilent(world, "a");
    await world.clock.advance(9 * MINUTE_MS);
    world.api.change(NODE, "node-a", {
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
    await world.clock.advance(5 * MINUTE_MS);
    expect(deleted(world)).toEqual([]);
    await world.stop();
  });

  it("deletes nothing while more than 20% are unhealthy, with events on Node and NodeClaim", async () => {
    const world = await joined(["a", "b", "c"]);
    await fallSilent(world, "a");
    await fallSilent(world, "b");
    await world.clock.advance(11 * MINUTE_MS);
    expect(deleted(world)).toEqual([]);
    const told = world.published.filter(({ reason }) => reason === "NodeRepairBlocked");
    expect(new Set(told.map(({ object }) => object.kind))).toEqual(new Set(["Node", "NodeClaim"]));
    world.api.change(NODE, "node-b", {
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
    await world.clock.advance(6 * MINUTE_MS);
    expect(deleted(world)).toEqual(["a"]);
    await world.stop();
  });

  it("publishes on the NodePool, too, that more than 20% of its nodes are unhealthy", async () => {
    const world = await joined(["a", "b", "c"], true, { "karpenter.sh/nodepool": "default" });
    const nodeClassRef = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
    await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef } }));
    await fallSilent(world, "a");
    await fallSilent(world, "b");
    await world.clock.advance(11 * MINUTE_MS);
    const told = world.published.filter(({ reason }) => reason === "NodeRepairBlocked");
    const ofPool = told.find(({ object }) => object.kind === "NodePool");
    expect(ofPool?.message).toBe("more than 20% nodes are unhealthy in the nodepool");
    await world.stop();
  });

  it("publishes no NodeRepairPending for a node that is not initialized yet", async () => {
    const world = await joined([]);
    await world.api.create(NODE_CLAIM, {
      metadata: { name: "young" },
      spec: {
        requirements: [],
        nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
      },
    });
    await world.clock.settle();
    const lastTransitionTime = toRfc3339(world.clock.now());
    const conditions = [{ type: "Ready", status: "False", lastTransitionTime }];
    await world.join(world.api.find(NODE_CLAIM, "young") as NodeClaim, { status: { conditions } });
    await world.clock.advance(MINUTE_MS);
    expect(world.published.some(({ object }) => object.metadata.name === "young")).toBe(true);
    expect(world.published.map(({ reason }) => reason)).not.toContain("NodeRepairPending");
    await world.stop();
  });

  it("deletes nothing while its feature gate is off", async () => {
    const world = await joined(["a"], false);
    await fallSilent(world, "a");
    await world.clock.advance(30 * MINUTE_MS);
    expect(deleted(world)).toEqual([]);
    await world.stop();
  });
});
