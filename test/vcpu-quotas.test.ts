/** With `--enable-quota-awareness` one large batch creates no more NodeClaims than EC2's vCPU quota has room for. */
import { afterEach, expect, it } from "vitest";
import type { Pod } from "../src/apis/core/pod.ts";
import { condition } from "../src/apis/karpenter/conditions.ts";
import { NODE_POOL, type NodePool } from "../src/apis/karpenter/nodepool.ts";
import { awsPoolManifest, ON_DEMAND } from "../src/testing/manifests.ts";
import { isUsual, openWorld, type TestWorld } from "./world.ts";

/** vCPUs of the simulated account's own node group. */
const OF_NODE_GROUP = 4;

const ONE_TYPE = "{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}";
const INPUT = `${awsPoolManifest({ requirements: [ONE_TYPE, ON_DEMAND] })}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 8
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: app, image: pause, resources: {requests: {cpu: "1.5"}}}]
`;

let world: TestWorld;
afterEach(() => world?.close());

it("a batch beyond the vCPU quota creates the nodes that fit, fails no launch, and continues once there is room", async () => {
  world = await openWorld({
    provider: "aws",
    sells: isUsual,
    flags: { "enable-quota-awareness": "true" },
  });
  const raise = world.box.sandbox.aws.faults.limitQuota({
    capacityType: "on-demand",
    vcpus: OF_NODE_GROUP + 6,
  });
  await world.advance(65_000);
  await world.apply(INPUT);
  const running = async () => {
    const pods = await world.list<Pod>("Pod", "v1", "app=web");
    return pods.filter(({ status }) => status?.phase === "Running").length;
  };
  const created = () => world.log().filter((line) => line.includes("created nodeclaim")).length;
  await world.until("three pods run", async () => (await running()) === 3);
  await world.advance(60_000);
  expect(created()).toBe(3);
  expect(world.log().filter((line) => line.includes("no quota has room"))).toEqual([]);
  const near = async () =>
    condition(await world.get("NodePool", "default", "karpenter.sh/v1"), "QuotaNear");
  expect(await near()).toMatchObject({ status: "True", reason: "VCPUsNearlyUsed" });
  expect((await near())?.message).toContain("10 of 10 vCPUs of EC2's quota");
  raise();
  await world.until("all pods run", async () => (await running()) === 8, 300_000);
  await world.advance(60_000);
  expect(await near()).toBeUndefined();
});

it("the condition QuotaNear of an earlier process is removed if quota awareness is off", async () => {
  world = await openWorld({ provider: "aws", sells: isUsual });
  const [pool] = (await world.apply(awsPoolManifest())).slice(-1);
  const lastTransitionTime = "2026-01-05T08:00:00Z";
  const left = { type: "QuotaNear", status: "True", reason: "VCPUsNearlyUsed", lastTransitionTime };
  await world.advance(5_000);
  const { status } = await world.get<NodePool>("NodePool", "default", "karpenter.sh/v1");
  const body = {
    status: { conditions: [...(status?.conditions ?? []), { ...left, message: "" }] },
  };
  const name = pool?.metadata.name ?? "";
  await world.client.patch(NODE_POOL, { name }, { type: "merge", body }, "status");
  await world.during(world.box.restart());
  await world.advance(5_000);
  const after = await world.get("NodePool", "default", "karpenter.sh/v1");
  expect(condition(after, "QuotaNear")).toBeUndefined();
  expect(condition(after, "Ready")?.status).toBe("True");
});
