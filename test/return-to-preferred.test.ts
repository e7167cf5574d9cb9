import { describe, expect, it } from "vitest";
import { awsClassManifest } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

const HOUR_MS = 3_600_000;

const CLASS = awsClassManifest("capacityReservationSelectorTerms: [{tags: {team: a}}]");

const POD = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/arch: amd64, tier: ours}
      containers: [{name: app, image: pause, resources: {requests: {cpu: "1"}}}]
`;

interface PoolText {
  readonly name: string;
  readonly weight?: number;
  readonly capacityTypes: string;
  readonly asked: string;
}

function nodePool({ name, weight = 1, capacityTypes, asked }: PoolText): string {
  return `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ${name}, annotations: {karpenter.sh/return-to-preferred: "${asked}"}}
spec:
  weight: ${weight}
  template:
    metadata: {labels: {tier: ours}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [${capacityTypes}]}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
`;
}

/** Pool and capacity type of each node that Karpenter launched. */
async function nodes(world: TestWorld): Promise<readonly string[]> {
  const all = await world.list("Node", "v1", "tier=ours");
  return all.map(
    ({ metadata: { labels = {} } }) =>
      `${labels["karpenter.sh/nodepool"]} ${labels["karpenter.sh/capacity-type"]}`,
  );
}

async function play(story: (world: TestWorld) => Promise<void>): Promise<void> {
  const world = await openWorld({ provider: "aws", sells: isUsual });
  try {
    await story(world);
  } finally {
    await world.close();
  }
}

const isOne = (world: TestWorld, wanted: string) => async () => {
  const there = await nodes(world);
  return there.length === 1 && there[0] === wanted;
};

const FIRST = nodePool({ name: "first", weight: 10, capacityTypes: "spot", asked: "" });
const SECOND = nodePool({ name: "second", capacityTypes: "on-demand", asked: "nodepool" });

describe("the return to preferred nodes, in a cluster without consolidation", () => {
  it("moves a node to a reservation with room again, an hour after the launch", async () => {
    await play(async (world) => {
      const manifests = `${CLASS}${nodePool({ name: "default", capacityTypes: "on-demand, reserved", asked: "capacity-type" })}${POD}`;
      await world.apply(manifests);
      await world.until("a bought node", isOne(world, "default on-demand"));
      world.box.sandbox.aws.controls.addReservation({
        InstanceType: "m5.large",
        AvailabilityZone: "us-west-2a",
        TotalInstanceCount: 1,
        tags: [{ Key: "team", Value: "a" }],
      });
      await world.advance(HOUR_MS / 2);
      expect(await nodes(world)).toEqual(["default on-demand"]);
      await world.until("a reserved node", isOne(world, "default reserved"), HOUR_MS);
      expect(world.log().join("\n")).toContain("returning to reserved");
    });
  });

  it("moves to the NodePool with more weight once spot is available again, and then stops", async () => {
    await play(async (world) => {
      const undo = world.box.sandbox.aws.faults.limitCapacity({ capacityType: "spot" });
      await world.apply(`${CLASS}${FIRST}---${SECOND}${POD}`);
      await world.until("the second choice", isOne(world, "second on-demand"));
      undo();
      await world.until("the first choice", isOne(world, "first spot"), 2 * HOUR_MS);
      await world.advance(HOUR_MS / 2);
      expect(await nodes(world)).toEqual(["first spot"]);
    });
  });
});
