import { describe, expect, it } from "vitest";
import { DEPLOYMENT, REPLICA_SET } from "../../apis/apps/kinds.ts";
import { deploymentOf, startParts } from "../testing/parts-cluster.ts";

describe("a Deployment", () => {
  it("runs its pods on nodes that have room and reports them available", async () => {
    const cluster = await startParts();
    cluster.node("node-a");
    cluster.node("node-b");
    await cluster.clock.advance(1_000);
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
    const [set] = (await cluster.kube.list(REPLICA_SET)).items;
    expect(set?.metadata.name).toMatch(/^web-[a-z0-9]+$/);
    await cluster.stop();
  });
});
