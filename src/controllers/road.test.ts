// One pod through all controllers on virtual time: pending, planned, launched, joined, emptied, drained, terminated.
// The test acts as scheduler and as instance.
import { describe, expect, it } from "vitest";
import { NODE } from "../apis/core/node.ts";
import { POD, type Pod } from "../apis/core/pod.ts";
import { MACHINE } from "../apis/karpenter/machine.ts";
import { NODE_CLAIM, type NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../apis/karpenter/nodepool.ts";
import { PROVISIONER } from "../apis/karpenter/provisioner.ts";
import type { Kind } from "../apis/meta.ts";
import { toRfc3339 } from "../base/clock.ts";
import { FAKE_NODE_CLASS } from "../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../testing/fake-world.ts";
import { allControllers } from "./all.ts";

const NODE_POOL_V1 = {
  metadata: { name: "default" },
  spec: {
    template: {
      spec: {
        requirements: [{ key: "kubernetes.io/arch", operator: "In" as const, values: ["amd64"] }],
        nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
        expireAfter: "720h",
      },
    },
    disruption: {
      consolidationPolicy: "WhenEmpty" as const,
      consolidateAfter: "30s",
      budgets: [{ nodes: "100%" }],
    },
    limits: { cpu: "100" },
  },
};

function pendingPod(name: string, cpu = "1"): Pod {
  return {
    metadata: {
      name,
      namespace: "default",
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r" }],
    },
    spec: { containers: [{ name: "c", resources: { requests: { cpu } } }] },
    status: {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
    },
  };
}

async function started(): Promise<FakeWorld> {
  const world = fakeWorld();
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  await world.run(...allControllers(world));
  return world;
}

/** Acts as the instance and the scheduler: joins the claim's node and binds the pods to it. */
async function joinAndBind(world: FakeWorld, kind: Kind, pods: readonly string[]): Promise<string> {
  const claim = world.api.all(kind)[0] as NodeClaim;
  await world.join(claim);
  await world.clock.advance(2_000);
  const nodeName = `node-${claim.metadata.name}`;
  for (const pod of pods) {
    world.api.change(POD, `default/${pod}`, {
      spec: { nodeName },
      status: { phase: "Running", conditions: null },
    });
  }
  await world.clock.advance(1_000);
  return nodeName;
}

const messages = (world: FakeWorld): string[] =>
  world.lines.filter((line) => !line.startsWith("debug")).map((line) => line.split(" {")[0] ?? "");
const reasons = (world: FakeWorld): string[] => world.published.map(({ reason }) => reason);

describe("pods through all controllers", () => {
  it("launches one node for three pods that fit together, and ends it once it is empty", async () => {
    const world = await started();
    await world.api.create(NODE_POOL, NODE_POOL_V1);
    await world.clock.settle();
    expect(world.api.find(NODE_POOL, "default")?.status?.conditions).toMatchObject([
      { type: "ValidationSucceeded", status: "True" },
      { type: "NodeClassReady", status: "True" },
      { type: "NodeRegistrationHealthy", status: "Unknown" },
      { type: "Ready", status: "True" },
    ]);
    for (const name of ["a", "b", "c"]) await world.api.create(POD, pendingPod(name));
    await world.clock.advance(900);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(0);
    await world.clock.advance(200);
    const claims = world.api.all(NODE_CLAIM);
    expect(claims).toHaveLength(1);
    expect(claims[0]?.metadata.labels).toMatchObject({
      "karpenter.sh/nodepool": "default",
      "node.kubernetes.io/instance-type": "c-4x",
    });
    expect(claims[0]?.metadata.ownerReferences?.[0]).toMatchObject({ kind: "NodePool" });
    expect(reasons(world).filter((reason) => reason === "Nominated")).toHaveLength(3);

    const nodeName = await joinAndBind(world, NODE_CLAIM, ["a", "b", "c"]);
    expect(world.api.find(NODE, nodeName)?.metadata.labels?.["karpenter.sh/initialized"]).toBe(
      "true",
    );
    await world.clock.advance(5_000);
    expect(world.api.find(NODE_POOL, "default")?.status?.resources).toMatchObject({
      cpu: "4",
      nodes: "1",
    });
    const gauges = [...world.shown()].filter(([key]) => key.includes(`node_name=${nodeName}`));
    const cpu = gauges.filter(([key]) => key.endsWith("resource_type=cpu}"));
    expect(cpu.map(([key, value]) => [key.slice(0, key.indexOf("{")), value])).toEqual([
      ["nodes_allocatable", 3.9],
      ["nodes_total_pod_requests", 3],
      ["nodes_system_overhead", expect.closeTo(0.1)],
    ]);
    await world.clock.advance(120_000);
    expect(world.api.all(NODE)).toHaveLength(1);

    const leaving = {
      deletionTimestamp: toRfc3339(world.clock.now()),
      finalizers: ["kubelet/stops-it"],
    };
    for (const name of ["a", "b", "c"])
      world.api.change(POD, `default/${name}`, { metadata: leaving });
    await world.clock.settle();
    for (const name of ["a", "b", "c"]) world.api.vanish(POD, `default/${name}`);
    await world.clock.advance(25_000);
    expect(world.api.find(NODE, nodeName)?.metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(45_000);
    expect(world.api.all(NODE)).toHaveLength(0);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(0);
    expect(world.cloud.instances.size).toBe(0);
    await world.clock.advance(5_000);
    expect([...world.measured.keys()].filter((key) => key.includes(nodeName))).toEqual([]);
    expect(messages(world)).toEqual([
      "info found provisionable pod(s)",
      "info computed new nodeclaim(s) to fit pod(s)",
      "info created nodeclaim",
      "info launched nodeclaim",
      "info registered nodeclaim",
      "info initialized nodeclaim",
      "info disrupting node(s)",
      "info tainted node",
      "info deleted node",
      "info deleted nodeclaim",
    ]);
    expect(reasons(world)).toContain("DisruptionTerminating");
    await world.stop();
  });

  it("S0-23: an alpha node that is empty for ttlSecondsAfterEmpty is ended, with alpha's log lines", async () => {
    const world = await started();
    await world.api.create(PROVISIONER, {
      metadata: { name: "default" },
      spec: { providerRef: { name: "default" }, ttlSecondsAfterEmpty: 30 },
    });
    await world.api.create(POD, pendingPod("a"));
    await world.clock.advance(1_200);
    expect(world.api.all(MACHINE)).toHaveLength(1);
    const nodeName = await joinAndBind(world, MACHINE as Kind, ["a"]);
    await world.clock.advance(60_000);
    world.api.vanish(POD, "default/a");
    await world.clock.settle();
    const empty = world.api
      .all(MACHINE)[0]
      ?.status?.conditions?.find(({ type }) => type === "MachineEmpty");
    expect(empty?.status).toBe("True");
    await world.clock.advance(29_000);
    expect(world.api.find(NODE, nodeName)?.metadata.deletionTimestamp).toBeUndefined();
    expect(world.api.find(NODE, nodeName)?.spec?.unschedulable).toBeUndefined();
    await world.clock.advance(11_000);
    expect(world.api.all(NODE)).toHaveLength(0);
    expect(world.api.all(MACHINE)).toHaveLength(0);
    expect(world.cloud.instances.size).toBe(0);
    expect(messages(world).slice(-4)).toEqual([
      `info deprovisioning via emptiness delete, terminating 1 machines ${nodeName}/c-2x/on-demand`,
      "info cordoned node",
      "info deleted node",
      "info deleted machine",
    ]);
    await world.stop();
  });

  it("S1-38, S1-39: an empty node of an inline provider is ended, with v0.5's log lines", async () => {
    const world = await started();
    await world.api.create(PROVISIONER, {
      metadata: { name: "default" },
      spec: { provider: { instanceProfile: "p" }, ttlSecondsAfterEmpty: 30 },
    });
    await world.api.create(POD, pendingPod("a"));
    await world.clock.advance(1_200);
    const nodeName = await joinAndBind(world, MACHINE as Kind, ["a"]);
    world.lines.length = 0;
    await world.clock.advance(60_000);
    world.api.vanish(POD, "default/a");
    await world.clock.settle();
    const key = "karpenter.sh/emptiness-timestamp";
    expect(world.api.find(NODE, nodeName)?.metadata.annotations?.[key]).toBeDefined();
    await world.clock.advance(40_000);
    expect(world.api.all(NODE)).toHaveLength(0);
    expect(messages(world)).toEqual([
      "info Added TTL to empty node",
      "info Triggering termination after 30s for empty node",
      "info Cordoned node",
      "info Deleted node",
      "info deleted machine",
    ]);
    expect(world.lines[1]).toContain('"controller":"node"');
    await world.stop();
  });

  it("launches nothing for a NodePool whose NodeClass is missing, with one log line and an event", async () => {
    const world = fakeWorld();
    await world.run(...allControllers(world));
    await world.api.create(NODE_POOL, NODE_POOL_V1);
    await world.api.create(POD, pendingPod("a"));
    await world.clock.advance(3_000);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(0);
    await world.api.create(POD, pendingPod("b"));
    await world.clock.advance(60_000);
    // The message is logged only once, although planning ran several times.
    const told = messages(world).filter((line) => line.endsWith("ignoring nodepool, not ready"));
    expect(told).toEqual(["error ignoring nodepool, not ready"]);
    const event = world.published.find(({ reason }) => reason === "FailedScheduling");
    expect(event?.message).toBe(
      'Failed to schedule pod, no dynamic nodepools found: nodepool "default" is not ready, its conditions say why',
    );
    await world.stop();
  });

  it("publishes FailedScheduling with the cause if the cloud cannot list instance types", async () => {
    const world = await started();
    const refused = async () => Promise.reject(new Error("ExpiredToken: it has expired"));
    Object.assign(world.cloud, { getInstanceTypes: refused });
    await world.api.create(NODE_POOL, NODE_POOL_V1);
    await world.api.create(POD, pendingPod("a"));
    await world.clock.advance(3_000);
    const event = world.published.find(({ reason }) => reason === "FailedScheduling");
    expect(event?.message).toBe(
      'Failed to schedule pod, no dynamic nodepools found: nodepool "default" has no instance types: ExpiredToken: it has expired',
    );
    await world.stop();
  });

  it("publishes FailedScheduling with some NodePools' names if all are of another provider", async () => {
    const world = await started();
    for (const name of ["a", "b", "c", "d"]) {
      const { template, ...spec } = NODE_POOL_V1.spec;
      const nodeClassRef = { group: "eks.amazonaws.com", kind: "NodeClass", name: "auto" };
      const foreign = { spec: { ...template.spec, nodeClassRef } };
      await world.api.create(NODE_POOL, {
        metadata: { name },
        spec: { ...spec, template: foreign },
      });
    }
    await world.api.create(POD, pendingPod("a"));
    await world.clock.advance(3_000);
    const event = world.published.find(({ reason }) => reason === "FailedScheduling");
    const text =
      'no dynamic nodepools found: none is ours: nodepool "a" (NodeClass of eks.amazonaws.com), nodepool "b" (NodeClass of eks.amazonaws.com), nodepool "c" (NodeClass of eks.amazonaws.com), and 1 more; this Karpenter serves TestNodeClass of karpenter.test.sh, AWSNodeTemplate of karpenter.k8s.aws';
    expect(event?.message).toBe(`Failed to schedule pod, ${text}`);
    expect(messages(world)).toContain("info no dynamic nodepools found");
    expect(world.lines.find((line) => line.includes("no dynamic"))).toContain(JSON.stringify(text));
    await world.stop();
  });

  it("drains a Node deleted by a user, which waits for a pod that may not be evicted", async () => {
    const world = await started();
    await world.api.create(NODE_POOL, NODE_POOL_V1);
    await world.api.create(POD, pendingPod("a"));
    await world.api.create(POD, pendingPod("b"));
    await world.clock.advance(1_200);
    const nodeName = await joinAndBind(world, NODE_CLAIM, ["a", "b"]);
    world.api.guarded.add("default/a");
    await world.api.delete(NODE, { name: nodeName });
    await world.clock.advance(20_000);
    expect(world.api.all(POD).map(({ metadata }) => metadata.name)).toEqual(["a"]);
    expect(world.api.find(NODE, nodeName)?.spec?.taints).toMatchObject([
      { key: "karpenter.sh/disrupted", effect: "NoSchedule" },
    ]);
    expect(reasons(world)).toContain("FailedDraining");
    // By now the pods of the drained node have another place.
    const names = world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(2);
    const replacement = names.find((name) => `node-${name}` !== nodeName);
    world.api.guarded.clear();
    await world.clock.advance(30_000);
    expect(world.api.all(POD)).toHaveLength(0);
    expect(world.api.all(NODE)).toHaveLength(0);
    expect(world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.name)).toEqual([replacement]);
    expect([...world.cloud.instances.keys()]).toEqual([`fake:///${replacement}`]);
    await world.stop();
  });
});
