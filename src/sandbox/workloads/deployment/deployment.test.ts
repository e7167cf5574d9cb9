import { describe, expect, it } from "vitest";
import { DEPLOYMENT, REPLICA_SET } from "../../../apis/apps/kinds.ts";
import { deploymentOf, type PartsCluster, startParts } from "../../testing/parts-cluster.ts";

async function withNodes(): Promise<PartsCluster> {
  const cluster = await startParts();
  cluster.node("node-a");
  cluster.node("node-b");
  await cluster.clock.advance(1_000);
  return cluster;
}

async function merge(cluster: PartsCluster, body: unknown): Promise<void> {
  const ref = { name: "web", namespace: "default" };
  await cluster.kube.patch(DEPLOYMENT, ref, { type: "merge", body });
}

async function sizes(cluster: PartsCluster): Promise<readonly string[]> {
  return (await cluster.kube.list(REPLICA_SET)).items
    .map(({ metadata, spec }) => {
      const revision = metadata.annotations?.["deployment.kubernetes.io/revision"];
      return `${revision}: ${spec.replicas}`;
    })
    .sort();
}

const NEW_IMAGE = {
  spec: { template: { spec: { containers: [{ name: "main", image: "pause:3.11" }] } } },
};

describe("a Deployment", () => {
  it("runs its pods on nodes with room, and reports them as available", async () => {
    const cluster = await withNodes();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 4));
    await cluster.clock.advance(10_000);
    const pods = await cluster.pods();
    expect(pods.map(({ status }) => status?.phase)).toEqual(Array(4).fill("Running"));
    expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual([
      "node-a",
      "node-a",
      "node-b",
      "node-b",
    ]);
    const deployment = await cluster.get(DEPLOYMENT, "web");
    expect(deployment.status).toMatchObject({
      observedGeneration: 1,
      replicas: 4,
      updatedReplicas: 4,
      readyReplicas: 4,
      availableReplicas: 4,
      conditions: [
        { type: "Available", status: "True", reason: "MinimumReplicasAvailable" },
        { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" },
      ],
    });
    await cluster.stop();
  });

  it("rolls out a new template with never fewer pods than allowed", async () => {
    const cluster = await withNodes();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 4));
    await cluster.clock.advance(10_000);
    await merge(cluster, NEW_IMAGE);
    for (let step = 0; step < 60; step++) {
      await cluster.clock.advance(500);
      const { status } = await cluster.get(DEPLOYMENT, "web");
      expect(Number(status?.["availableReplicas"] ?? 0)).toBeGreaterThanOrEqual(3);
      expect(Number(status?.["replicas"] ?? 0)).toBeLessThanOrEqual(5);
    }
    expect(await sizes(cluster)).toEqual(["1: 0", "2: 4"]);
    const deployment = await cluster.get(DEPLOYMENT, "web");
    expect(deployment.status).toMatchObject({ updatedReplicas: 4, availableReplicas: 4 });
    expect(deployment.metadata.annotations).toMatchObject({
      "deployment.kubernetes.io/revision": "2",
    });
    await cluster.stop();
  });

  it("returns to an earlier template as its newest revision", async () => {
    const cluster = await withNodes();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 2));
    await cluster.clock.advance(10_000);
    const first = await cluster.get(DEPLOYMENT, "web");
    await merge(cluster, NEW_IMAGE);
    await cluster.clock.advance(30_000);
    await merge(cluster, { spec: { template: first.spec.template } });
    await cluster.clock.advance(30_000);
    expect(await sizes(cluster)).toEqual(["2: 0", "3: 2"]);
    await cluster.stop();
  });

  it("follows a resize up and down, and to zero", async () => {
    const cluster = await withNodes();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 2));
    for (const replicas of [5, 1, 0]) {
      await merge(cluster, { spec: { replicas } });
      await cluster.clock.advance(15_000);
      expect(await cluster.pods()).toHaveLength(replicas);
    }
    await cluster.stop();
  });

  it("is resized during a rollout that cannot finish, and the rollout times out", async () => {
    const cluster = await withNodes();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 4));
    await cluster.clock.advance(10_000);
    const requests = { cpu: "64" };
    const containers = [{ name: "main", image: "pause:3.11", resources: { requests } }];
    await merge(cluster, { spec: { template: { spec: { containers } } } });
    await cluster.clock.advance(10_000);
    expect(await sizes(cluster)).toEqual(["1: 3", "2: 2"]);
    await merge(cluster, { spec: { replicas: 8 } });
    await cluster.clock.advance(10_000);
    expect(await sizes(cluster)).toEqual(["1: 6", "2: 4"]);
    await cluster.clock.advance(700_000);
    const { status } = await cluster.get(DEPLOYMENT, "web");
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "Progressing",
        status: "False",
        reason: "ProgressDeadlineExceeded",
      }),
    );
    await cluster.stop();
  });

  it("with the strategy Recreate replaces all pods at once", async () => {
    const cluster = await withNodes();
    const web = deploymentOf("web", 3) as { spec: object };
    await cluster.create(DEPLOYMENT, {
      ...web,
      spec: { ...web.spec, strategy: { type: "Recreate" } },
    });
    await cluster.clock.advance(10_000);
    await merge(cluster, NEW_IMAGE);
    await cluster.clock.advance(800);
    const images = (await cluster.pods()).map(({ spec }) => spec.containers[0]?.image);
    expect(new Set(images)).toEqual(new Set(["pause:3.10"]));
    await cluster.clock.advance(20_000);
    expect(await sizes(cluster)).toEqual(["1: 0", "2: 3"]);
    await cluster.stop();
  });
});
