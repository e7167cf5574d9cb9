import { describe, expect, it } from "vitest";
import { DEPLOYMENT, type Deployment } from "../apis/apps/kinds.ts";
import { NODE } from "../apis/core/node.ts";
import { POD } from "../apis/core/pod.ts";
import { toRfc3339 } from "../base/clock.ts";
import { node, pod } from "../testing/builders.ts";
import { defineNodeClaims, type FakeWorld, fakeWorld } from "../testing/fake-world.ts";
import { createEvictionQueue } from "./node/eviction-queue.ts";
import { termination } from "./node/termination.ts";

const SURGED_AT = ["spec", "template", "metadata", "annotations", "karpenter.sh/surged-at"];

/** Creates a node that is being deleted, with the one pod of a Deployment that wants to be moved without downtime. */
async function leaving(
  annotations: Readonly<Record<string, string>> = {},
  spec: NonNullable<Parameters<typeof pod>[0]>["spec"] = {},
  settings: Parameters<typeof fakeWorld>[0] = {},
): Promise<FakeWorld> {
  const world = fakeWorld(settings);
  await defineNodeClaims(world);
  const labels = { "karpenter.test.sh/testnodeclass": "default" };
  const finalizers = ["karpenter.sh/termination"];
  const owned = node({ name: "node-a", labels, providerId: "fake://1" });
  await world.api.create(NODE, { ...owned, metadata: { ...owned.metadata, finalizers } });
  const asks = { "karpenter.sh/zero-downtime": "true" };
  await world.api.create(DEPLOYMENT, {
    metadata: { name: "web", namespace: "default", annotations: asks, generation: 1 },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [] } },
    },
    status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1 },
  } as Deployment);
  await world.api.create(
    POD,
    pod({
      name: "web-5f-x",
      nodeName: "node-a",
      labels: { app: "web", "pod-template-hash": "5f" },
      annotations,
      spec,
      owner: { kind: "ReplicaSet", name: "web-5f", apiVersion: "apps/v1" },
      status: {
        phase: "Running",
        startTime: toRfc3339(world.clock.now()),
        conditions: [{ type: "Ready", status: "True" }],
      },
    }),
  );
  const queue = createEvictionQueue(world);
  await world.run(queue.controller, termination(world, queue, { mayLeave: () => true }));
  return world;
}

const rolledOver = (world: FakeWorld) => world.api.all(DEPLOYMENT)[0];

describe("a zero-downtime pod on a deleted Node", () => {
  it("has its Deployment restarted, and is not evicted meanwhile", async () => {
    const world = await leaving();
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(20_000);
    expect(rolledOver(world)).toHaveProperty(SURGED_AT);
    expect(world.api.journal).not.toContain("evict default/web-5f-x");
    await world.stop();
  });

  it("is evicted if Deployments may not be patched, with an event that says how to grant it", async () => {
    const world = await leaving({}, {}, { surgeNamespaces: ["shop"] });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(20_000);
    expect(rolledOver(world)).not.toHaveProperty(SURGED_AT);
    expect(world.api.journal).toContain("evict default/web-5f-x");
    expect(world.published.map(({ message }) => message)).toContain(
      "Evicted without a new pod beforehand: Karpenter may not patch Deployments in namespace default; grant it with the chart's settings.surgeNamespaces (--surge-namespaces)",
    );
    await world.stop();
  });

  it("is neither rolled over nor evicted with the do-not-disrupt annotation", async () => {
    const world = await leaving({ "karpenter.sh/do-not-disrupt": "true" });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(60_000);
    expect(rolledOver(world)).not.toHaveProperty(SURGED_AT);
    expect(world.api.journal).not.toContain("evict default/web-5f-x");
    await world.stop();
  });

  it("has its Deployment restarted once its do-not-disrupt duration is over", async () => {
    const world = await leaving({ "karpenter.sh/do-not-disrupt": "3m" });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(170_000);
    expect(rolledOver(world)).not.toHaveProperty(SURGED_AT);
    await world.clock.advance(60_000);
    expect(rolledOver(world)).toHaveProperty(SURGED_AT);
    expect(world.api.journal).not.toContain("evict default/web-5f-x");
    await world.stop();
  });

  it("has its Deployment restarted once a user withdraws its do-not-disrupt annotation", async () => {
    const world = await leaving({ "karpenter.sh/do-not-disrupt": "true" });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(63_300);
    world.api.change(POD, "default/web-5f-x", {
      metadata: { annotations: { "karpenter.sh/do-not-disrupt": "false" } },
    });
    await world.clock.advance(60_000);
    expect(rolledOver(world)).toHaveProperty(SURGED_AT);
    expect(world.api.journal).not.toContain("evict default/web-5f-x");
    await world.stop();
  });

  it("has the whole surge timeout from the end of its do-not-disrupt duration on", async () => {
    const world = await leaving({ "karpenter.sh/do-not-disrupt": "20m" });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(1_190_000);
    expect(rolledOver(world)).not.toHaveProperty(SURGED_AT);
    await world.clock.advance(60_000);
    expect(rolledOver(world)).toHaveProperty(SURGED_AT);
    expect(world.api.journal).not.toContain("evict default/web-5f-x");
    await world.stop();
  });

  it("has the surge timeout from the withdrawal of do-not-disrupt on, and is evicted after that", async () => {
    const world = await leaving({ "karpenter.sh/do-not-disrupt": "true" });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(1_200_000);
    world.api.change(POD, "default/web-5f-x", {
      metadata: { annotations: { "karpenter.sh/do-not-disrupt": "false" } },
    });
    await world.clock.advance(60_000);
    expect(rolledOver(world)).toHaveProperty(SURGED_AT);
    await world.clock.advance(530_000);
    expect(world.api.journal).not.toContain("evict default/web-5f-x");
    await world.clock.advance(20_000);
    expect(world.api.journal).toContain("evict default/web-5f-x");
    const told = world.published.filter(({ reason }) => reason === "NoSurgeBeforeEviction");
    expect(told.map(({ message }) => message)).toContain(
      "Evicted without a new pod beforehand: no new pod was available within 10m0s",
    );
    await world.stop();
  });

  it("has the surge timeout from its turn on, even if earlier pods blocked the drain for longer", async () => {
    const world = await leaving({}, { priorityClassName: "system-cluster-critical" });
    const status = { phase: "Running", startTime: toRfc3339(world.clock.now()) } as const;
    const annotations = { "karpenter.sh/do-not-disrupt": "20m" };
    await world.api.create(POD, pod({ name: "job", nodeName: "node-a", annotations, status }));
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(1_190_000);
    expect(rolledOver(world)).not.toHaveProperty(SURGED_AT);
    await world.clock.advance(60_000);
    expect(world.api.journal).toContain("evict default/job");
    expect(rolledOver(world)).toHaveProperty(SURGED_AT);
    expect(world.api.journal).not.toContain("evict default/web-5f-x");
    await world.stop();
  });

  it("does not have its Deployment restarted if it is already being deleted", async () => {
    const world = await leaving();
    const deletionTimestamp = toRfc3339(world.clock.now() + 600_000);
    world.api.change(POD, "default/web-5f-x", {
      metadata: { deletionTimestamp, finalizers: ["x/y"] },
    });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(60_000);
    expect(rolledOver(world)).not.toHaveProperty(SURGED_AT);
    await world.stop();
  });
});
