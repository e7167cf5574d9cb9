import { describe, expect, it } from "vitest";
import { awsPoolManifest } from "../src/testing/manifests.ts";
import { isUsual, openWorld } from "./world.ts";

const POOL = awsPoolManifest({
  more: "capacityReservationSelectorTerms: [{tags: {team: a}}]",
  requirements: [
    "{key: kubernetes.io/arch, operator: In, values: [amd64]}",
    "{key: karpenter.sh/capacity-type, operator: In, values: [on-demand, reserved]}",
  ],
  disruption: "{consolidationPolicy: WhenEmpty, consolidateAfter: Never}",
});
const MANIFESTS = `${POOL}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      containers: [{name: app, image: pause, resources: {requests: {cpu: "1"}}}]
`;

describe("reserved capacity", () => {
  it("is used first, each unit once; a pod without it waits one pass and gets an on-demand node", async () => {
    const world = await openWorld({ provider: "aws", sells: isUsual });
    try {
      world.box.sandbox.aws.controls.addReservation({
        InstanceType: "m5.large",
        AvailabilityZone: "us-west-2a",
        TotalInstanceCount: 2,
        tags: [{ Key: "team", Value: "a" }],
      });
      await world.apply(MANIFESTS);
      const nodes = () => world.list("Node", "v1", "karpenter.sh/nodepool=default");
      await world.until("three nodes are there", async () => (await nodes()).length === 3);
      const kinds = (await nodes()).map(
        ({ metadata: { labels = {} } }) =>
          `${labels["karpenter.sh/capacity-type"]} ${labels["node.kubernetes.io/instance-type"]}`,
      );
      expect(kinds.filter((one) => one === "reserved m5.large")).toHaveLength(2);
      expect(kinds.filter((one) => one.startsWith("on-demand "))).toHaveLength(1);
      const deferral = world.log().filter((line) => line.includes("limited reserved offering"));
      expect(deferral.length).toBeGreaterThan(0);
      expect(world.log().filter((line) => line.includes("could not schedule pod"))).toEqual([]);
    } finally {
      await world.close();
    }
  });
});
