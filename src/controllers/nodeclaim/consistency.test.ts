import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { MACHINE } from "../../apis/karpenter/machine.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { POD_DISRUPTION_BUDGET } from "../../apis/policy/kinds.ts";
import { pod } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { createRegistrationTracker } from "../registration-tracker.ts";
import { consistency } from "./consistency.ts";
import { lifecycle } from "./lifecycle/controller.ts";

const CLAIM = {
  metadata: { name: "a", labels: { "karpenter.sh/nodepool": "default" } },
  spec: {
    requirements: [{ key: "node.kubernetes.io/instance-type", operator: "In", values: ["c-4x"] }],
    resources: { requests: { cpu: "1" } },
    nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
  },
} as NodeClaim;

/** A world with a launched claim whose node joins with this many of the four promised cores. */
async function joined(cores: string): Promise<FakeWorld> {
  const world = fakeWorld();
  await world.run(lifecycle(world, createRegistrationTracker()), consistency(world));
  await world.api.create(NODE_CLAIM, CLAIM);
  await world.clock.settle();
  const claim = claimOf(world);
  const capacity = { ...claim.status?.capacity, cpu: cores };
  const status = { ...claim.status, capacity, allocatable: capacity };
  await world.join({ ...claim, status });
  await world.clock.settle();
  return world;
}

const claimOf = (world: FakeWorld) => world.api.find(NODE_CLAIM, "a") as NodeClaim;
const state = (world: FakeWorld) => condition(claimOf(world), "ConsistentStateFound")?.status;
const told = (world: FakeWorld) =>
  world.published
    .filter(({ reason }) => reason === "FailedConsistencyCheck")
    .map(
      ({ object, type, message }) => `${type} ${object.kind} ${object.metadata.name}: ${message}`,
    );

describe("nodeclaim.consistency", () => {
  it("sets ConsistentStateFound in the patch that initializes a NodeClaim with the promised capacity", async () => {
    const world = fakeWorld();
    let writes = 0;
    const patch = world.api.patch;
    Object.assign(world.api, {
      patch: async (...call: Parameters<typeof patch>) => {
        if (call[0] === (NODE_CLAIM as never)) writes++;
        return patch(...call);
      },
    });
    await world.run(lifecycle(world, createRegistrationTracker()), consistency(world));
    await world.api.create(NODE_CLAIM, CLAIM);
    await world.clock.settle();
    await world.join(claimOf(world));
    await world.clock.settle();
    expect(condition(claimOf(world), "Initialized")?.status).toBe("True");
    expect(state(world)).toBe("True");
    expect(claimOf(world).status?.conditions?.map(({ type }) => type)).toEqual([
      "Launched",
      "Registered",
      "Initialized",
      "ConsistentStateFound",
      "Ready",
    ]);
    const before = writes;
    expect(before).toBeGreaterThan(0);
    await world.clock.advance(3_600_000);
    expect(writes).toBe(before);
    expect(told(world)).toEqual([]);
    await world.stop();
  });

  it("publishes an event for a node smaller than promised, every ten minutes until it is right", async () => {
    const world = await joined("3");
    const issue = "expected 4 of resource cpu, but found 3 (75.0% of expected)";
    expect(told(world)).toEqual([`Warning NodeClaim a: ${issue}`]);
    expect(world.lines.filter((line) => line.startsWith("error consistency error"))).toHaveLength(
      1,
    );
    expect(state(world)).toBe("False");
    expect(condition(claimOf(world), "Ready")?.status).toBe("True");
    // A change of the claim that does not matter causes no new check.
    world.api.change(NODE_CLAIM, "a", { metadata: { annotations: { some: "thing" } } });
    await world.clock.advance(599_000);
    expect(told(world)).toHaveLength(1);
    await world.clock.advance(2_000);
    expect(told(world)).toHaveLength(2);
    world.api.change(NODE, "node-a", { status: { capacity: { cpu: "4" } } });
    await world.clock.advance(600_000);
    expect(state(world)).toBe("True");
    expect(told(world)).toHaveLength(2);
    await world.stop();
  });

  it("publishes which PodDisruptionBudget blocks a NodeClaim's drain, and changes no condition", async () => {
    const world = await joined("4");
    await world.api.create(POD, pod({ name: "p", labels: { app: "web" }, nodeName: "node-a" }));
    await world.api.create(POD_DISRUPTION_BUDGET, {
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { matchLabels: { app: "web" } } },
      status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    } as never);
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(601_000);
    expect(told(world)).toEqual([
      `Warning NodeClaim a: can't drain node, PDB "default/web" is blocking evictions`,
    ]);
    expect(state(world)).toBe("True");
    await world.stop();
  });

  it("publishes events on a Machine and its Node, without a ConsistentStateFound condition", async () => {
    const world = fakeWorld();
    await world.run(consistency(world));
    const machine = {
      metadata: { name: "m", labels: { "karpenter.sh/provisioner-name": "default" } },
      spec: {
        resources: { requests: { cpu: "1" } },
        machineTemplateRef: {
          kind: "TestNodeClass",
          apiVersion: "karpenter.test.sh/v1",
          name: "default",
        },
      },
      status: {
        providerID: "fake:///m",
        capacity: { cpu: "4" },
        conditions: [{ type: "MachineInitialized", status: "True" }],
      },
    } as unknown as KubeObject;
    await world.join({
      ...machine,
      status: { providerID: "fake:///m", capacity: { cpu: "2" } },
    } as never);
    await world.api.create(MACHINE as never, machine as never);
    await world.clock.settle();
    const issue = "expected 4 of resource cpu, but found 2 (50.0% of expected)";
    expect(told(world)).toEqual([`Warning Node node-m: ${issue}`, `Warning Machine m: ${issue}`]);
    const status = world.api.find(MACHINE as never, "m") as unknown as NodeClaim;
    expect(status.status?.conditions?.map(({ type }) => type)).toEqual(["MachineInitialized"]);
    await world.stop();
  });
});
