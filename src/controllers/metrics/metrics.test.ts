import { afterEach, describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { InsufficientCapacityError } from "../../core/cloudprovider/errors.ts";
import { nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

let world: FakeWorld;
afterEach(() => world.stop());

/** Starts all controllers on a cluster with one pool. */
async function cluster(): Promise<void> {
  world = fakeWorld();
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  const nodeClassRef = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
  const pool = nodePool({ template: { nodeClassRef } });
  await world.api.create(NODE_POOL, { ...pool, spec: { ...pool.spec, limits: { cpu: "100" } } });
  await world.run(...allControllers(world));
}

/** The series of a metric, as pairs of labels and value. */
function shown(name: string, part = ""): readonly (readonly [string, number])[] {
  const found = [...world.shown(), ...world.measured].filter(
    ([key]) => key.startsWith(`${name}{`) && key.includes(part),
  );
  return found.map(([key, value]) => [key.slice(name.length), value]);
}

function total(name: string, part = ""): number {
  return shown(name, part).reduce((sum, [, value]) => sum + value, 0);
}

function claims(): readonly NodeClaim[] {
  return world.api.all(NODE_CLAIM) as readonly NodeClaim[];
}

function waitingPod(name: string, cpu = "1") {
  const now = new Date(world.clock.now()).toISOString();
  const one = pod({ name, cpu, owner: { kind: "ReplicaSet", name: "web", apiVersion: "apps/v1" } });
  return { ...one, metadata: { ...one.metadata, creationTimestamp: now } };
}

describe("metrics of pods", () => {
  it("show how long a pod waits for its decision, binding and readiness, until it is done", async () => {
    await cluster();
    await world.api.create(POD, waitingPod("a"));
    await world.clock.advance(500);
    expect(total("pods_provisioning_scheduling_undecided_time_seconds", "name=a")).toBe(0.5);
    await world.clock.advance(2_500);
    expect(total("pods_provisioning_scheduling_undecided_time_seconds")).toBe(0);
    expect(total("pods_scheduling_decision_duration_seconds")).toBe(1);
    expect(total("pods_unbound_time_seconds", "name=a,namespace=default")).toBe(3);
    expect(shown("pods_unbound_time_seconds")[0]?.[0]).toContain("dynamic_resources=false");
    expect(total("pods_unstarted_time_seconds", "name=a")).toBe(3);
    expect(total("pods_provisioning_unbound_time_seconds", "name=a")).toBe(2);
    expect(shown("pods_state")).toEqual([
      [expect.stringContaining("owner=/apis/apps/v1/namespaces/default/replicasets/web"), 1],
    ]);
    expect(shown("pods_state")[0]?.[0]).toMatch(/scheduled=false.*phase=Pending.*ready=false/);

    const [claim] = claims();
    await world.join(claim as NodeClaim);
    await world.clock.advance(7_000);
    const nodeName = `node-${claim?.metadata.name}`;
    world.api.change(POD, "default/a", { spec: { nodeName } });
    await world.clock.advance(5_000);
    expect(total("pods_bound_duration_seconds", "dynamic_resources=false")).toBe(10);
    expect(total("pods_provisioning_bound_duration_seconds")).toBe(9);
    expect(total("pods_unbound_time_seconds")).toBe(0);
    expect(total("pods_unstarted_time_seconds")).toBe(15);

    const conditions = [{ type: "Ready", status: "True" as const }];
    world.api.change(POD, "default/a", { status: { phase: "Running", conditions } });
    await world.clock.advance(1_000);
    expect(total("pods_startup_duration_seconds")).toBe(15);
    expect(total("pods_provisioning_startup_duration_seconds")).toBe(14);
    expect(total("pods_unstarted_time_seconds")).toBe(0);
    expect(shown("pods_state")[0]?.[0]).toMatch(
      /nodepool=default,zone=zone-[ab],arch=amd64,.*managed=true.*ready=true/,
    );
  });

  it("count pending pods by the zone that they require", async () => {
    await cluster();
    const zoned = waitingPod("zoned", "500");
    const nodeSelector = { "topology.kubernetes.io/zone": "zone-b" };
    await world.api.create(POD, { ...zoned, spec: { ...zoned.spec, nodeSelector } });
    const lost = waitingPod("lost");
    const nowhere = { "topology.kubernetes.io/zone": "zone-x" };
    await world.api.create(POD, { ...lost, spec: { ...lost.spec, nodeSelector: nowhere } });
    await world.api.create(POD, waitingPod("free", "500"));
    await world.clock.advance(3_000);
    const name = "scheduler_pending_pods_by_effective_zone_count";
    for (const zone of ["zone-b", "none", "flexible"])
      expect(total(name, `zone=${zone}}`), zone).toBe(1);
    world.api.vanish(POD, "default/lost");
    await world.clock.advance(1);
    expect(total(name, "zone=none}")).toBe(0);
  });
});

describe("metrics of NodePools, nodes and the cluster state", () => {
  it("show a NodePool's usage, limit and cost, and each node's age", async () => {
    await cluster();
    await world.api.create(POD, waitingPod("a", "3"));
    await world.clock.advance(3_000);
    expect(total("nodepools_limit", "resource_type=cpu")).toBe(100);
    expect(total("nodepools_usage", "resource_type=cpu")).toBe(4);
    expect(total("nodepools_cost_total", "nodepool=default")).toBeCloseTo(0.4);
    expect(total("cluster_state_synced")).toBe(1);
    await world.join(claims()[0] as NodeClaim);
    await world.clock.advance(60_000);
    expect(world.api.all(NODE)).toHaveLength(1);
    expect(total("nodes_current_lifetime_seconds")).toBeGreaterThanOrEqual(0);
    expect(total("cluster_state_node_count")).toBe(1);
    expect(shown("voluntary_disruption_consolidation_timeouts_total")).toEqual([
      ["{consolidation_type=multi}", 0],
      ["{consolidation_type=single}", 0],
    ]);
  });

  it("show since when the cluster state is not synced", async () => {
    await cluster();
    world.cloud.refusals.push(new Error("no"), new Error("no"), new Error("no"));
    await world.api.create(POD, waitingPod("a"));
    await world.clock.advance(4_000);
    expect(total("cluster_state_synced")).toBe(0);
    expect(total("cluster_state_unsynced_time_seconds")).toBeGreaterThan(2);
    await world.clock.advance(20_000);
    expect(total("cluster_state_synced")).toBe(1);
    expect(total("cluster_state_unsynced_time_seconds")).toBe(0);
  });
});

describe("metrics of the cloud provider and of conditions", () => {
  it("count the cloud provider's errors by controller, method and upstream's error class", async () => {
    await cluster();
    world.cloud.refusals.push(new InsufficientCapacityError("none"), new Error("odd"));
    await world.api.create(POD, waitingPod("a"));
    await world.clock.advance(30_000);
    const own = "controller=nodeclaim.lifecycle,method=Create,provider=";
    const errors = shown("cloudprovider_errors_total", own).map(([labels]) =>
      labels.slice(labels.indexOf("error=")),
    );
    expect(errors).toEqual([
      "error=InsufficientCapacityError,nodepool=default}",
      "error=unknown,nodepool=default}",
    ]);
    expect(shown("cloudprovider_duration_seconds", own)).toHaveLength(1);
    expect(
      shown("cloudprovider_duration_seconds", "controller=provisioner,method=GetInstanceTypes"),
    ).toHaveLength(1);
  });

  it("show each condition of a NodeClaim until it is deleted, under both metric names", async () => {
    await cluster();
    await world.api.create(POD, waitingPod("a"));
    await world.clock.advance(3_000);
    const [claim] = claims();
    const own = `name=${claim?.metadata.name}`;
    expect(
      total("operator_nodeclaim_status_condition_count", `${own},type=Launched,status=True`),
    ).toBe(1);
    expect(total("operator_status_condition_count", `${own},type=Launched,status=True`)).toBe(1);
    await world.clock.advance(10_000);
    const name = "operator_nodeclaim_status_condition_current_status_seconds";
    expect(total(name, `${own},type=Launched`)).toBeGreaterThanOrEqual(10);
    await world.join(claim as NodeClaim);
    await world.clock.advance(5_000);
    const moved = "operator_nodeclaim_status_condition_transitions_total";
    expect(total(moved, "type=Registered,status=True")).toBe(1);
    expect(
      total("operator_status_condition_transitions_total", "type=Registered,status=True"),
    ).toBe(1);
    expect(
      total(
        "operator_nodeclaim_status_condition_transition_seconds",
        "type=Registered,status=Unknown",
      ),
    ).toBeGreaterThan(0);
    world.api.vanish(POD, "default/a");
    await world.api.delete(NODE_CLAIM, { name: claim?.metadata.name ?? "" });
    await world.clock.advance(1);
    expect(shown("operator_nodeclaim_termination_current_time_seconds", own)).toHaveLength(1);
    await world.clock.advance(60_000);
    expect(claims()).toEqual([]);
    expect(shown("operator_nodeclaim_termination_duration_seconds")).toHaveLength(1);
    expect(shown("operator_nodeclaim_status_condition_count")).toEqual([]);
  });
});
