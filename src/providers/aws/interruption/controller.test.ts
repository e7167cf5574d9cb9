import { afterEach, describe, expect, it } from "vitest";
import { NODE } from "../../../apis/core/node.ts";
import { MACHINE } from "../../../apis/karpenter/machine.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { type AwsWorld, awsWorld, CLUSTER } from "../../../testing/aws-world.ts";
import { nodeClaim } from "../../../testing/builders.ts";

const QueueUrl = `https://sqs.us-east-1.amazonaws.com/123456789012/${CLUSTER}`;

let world: AwsWorld;
afterEach(async () => {
  const stopped = world.stop();
  // Other controllers may be in the middle of a batch of calls.
  await world.clock.advance(1_000);
  await stopped;
});

async function begin(): Promise<void> {
  world = await awsWorld({ interruptionQueue: CLUSTER });
}

/** A claim with its node, on an instance of this number; finalizers keep it when it is deleted. */
async function claim(n: number, options: Parameters<typeof nodeClaim>[0] = {}): Promise<string> {
  const providerID = `aws:///us-east-1a/${instance(n)}`;
  const name = `claim-${n}`;
  await world.kube.create(NODE, { metadata: { name: `node-${n}` }, spec: { providerID } } as never);
  const made = nodeClaim({
    name,
    labels: {
      "node.kubernetes.io/instance-type": "m5.large",
      "topology.kubernetes.io/zone": "us-east-1a",
      "karpenter.sh/capacity-type": "spot",
    },
    metadata: { finalizers: ["karpenter.sh/termination"] },
    ...options,
  });
  await world.kube.create(NODE_CLAIM, made);
  world.kube.change(NODE_CLAIM, name, { status: { providerID, nodeName: `node-${n}` } });
  await world.clock.settle();
  return name;
}

function instance(n: number): string {
  return `i-${String(n).padStart(17, "0")}`;
}

function ec2(type: string, n: number, detail: Record<string, unknown> = {}): string {
  return JSON.stringify({
    version: "0",
    source: "aws.ec2",
    "detail-type": `EC2 ${type}`,
    detail: { "instance-id": instance(n), ...detail },
  });
}

const SPOT = "Spot Instance Interruption Warning";
const STATE = "Instance State-change Notification";

async function send(...bodies: readonly string[]): Promise<void> {
  for (const MessageBody of bodies) {
    await world.aws.call("sqs", "SendMessage", { QueueUrl, MessageBody });
  }
  await world.clock.settle();
}

async function left(): Promise<number> {
  const queue = world.aws.state.queues.get(CLUSTER);
  const { visible, hidden } = queue?.counts() ?? { visible: 0, hidden: 0 };
  return visible + hidden;
}

function isDeleting(name: string): boolean {
  return world.kube.find<NodeClaim>(NODE_CLAIM, name)?.metadata.deletionTimestamp !== undefined;
}

function reasons(): readonly string[] {
  return world.events.map(({ type, reason, object }) => `${type} ${reason} ${object.kind}`);
}

describe("the interruption controller", () => {
  it("deletes the claim of a spot instance within a second, publishes an event, and deletes the message", async () => {
    await begin();
    await claim(1);
    await claim(2);
    await send(ec2(SPOT, 1, { "instance-action": "terminate" }));
    expect(isDeleting("claim-1")).toBe(true);
    expect(isDeleting("claim-2")).toBe(false);
    expect(reasons()).toEqual([
      "Warning SpotInterrupted NodeClaim",
      "Warning SpotInterrupted Node",
      "Warning TerminatingOnInterruption NodeClaim",
      "Warning TerminatingOnInterruption Node",
    ]);
    expect(world.lines).toContain("initiating delete from interruption message");
    expect(await left()).toBe(0);
    expect(Object.fromEntries(world.counts)).toEqual({
      "interruption_received_messages_total spot_interrupted": 1,
      interruption_deleted_messages_total: 1,
      "nodeclaims_disrupted_total spot_interrupted default spot  graceful": 1,
    });
  });

  it("acts on Machines as on NodeClaims", async () => {
    await begin();
    const machine = { ...nodeClaim({ name: "m" }), apiVersion: "karpenter.sh/v1alpha5" };
    const finalizers = ["karpenter.sh/termination"];
    const metadata = { ...machine.metadata, finalizers };
    await world.kube.create(MACHINE, { ...machine, kind: "Machine", metadata } as never);
    const providerID = `aws:///us-east-1a/${instance(1)}`;
    world.kube.change(MACHINE, "m", { status: { providerID } });
    await world.clock.settle();
    await send(ec2(STATE, 1, { state: "stopping" }));
    expect(world.kube.find(MACHINE, "m")?.metadata.deletionTimestamp).toBeDefined();
    expect(reasons()).toContain("Warning InstanceStopping Machine");
  });

  it.each([
    ["a rebalance recommendation", () => ec2("Instance Rebalance Recommendation", 1)],
    ["a state that ends nothing", () => ec2(STATE, 1, { state: "running" })],
    ["an instance that is not ours", () => ec2(SPOT, 9)],
    ["a text that is no event", () => "{"],
  ])("does not delete the claim for %s, and deletes the message", async (_, body) => {
    await begin();
    await claim(1);
    await send(body());
    expect(isDeleting("claim-1")).toBe(false);
    expect(await left()).toBe(0);
  });

  it("logs messages that it cannot read, and continues with the others", async () => {
    await begin();
    await claim(1);
    await send("poison", "[]", ec2(SPOT, 1));
    expect(world.lines.filter((line) => line.startsWith("parsing message, "))).toHaveLength(2);
    expect(isDeleting("claim-1")).toBe(true);
    expect(await left()).toBe(0);
  });

  it("deletes a claim once, however many messages name it", async () => {
    await begin();
    await claim(1);
    const bodies = [ec2(SPOT, 1), ec2(SPOT, 1), ec2(STATE, 1, { state: "shutting-down" })];
    await send(...bodies, ...bodies);
    const lines = world.lines.filter((line) => line.startsWith("initiating delete"));
    expect(lines).toHaveLength(1);
    expect(world.kube.journal.filter((line) => line.includes("claim-1"))).toHaveLength(1);
    expect(await left()).toBe(0);
  });

  it("publishes no event about the end of an instance that Karpenter terminates itself", async () => {
    await begin();
    await claim(1);
    await world.kube.delete(NODE_CLAIM, { name: "claim-1" });
    await world.clock.settle();
    await send(ec2(STATE, 1, { state: "shutting-down" }), ec2(STATE, 1, { state: "terminated" }));
    expect(world.events).toEqual([]);
    expect(await left()).toBe(0);
  });

  it("marks an instance as taken back, even if its claim was already being deleted", async () => {
    await begin();
    await claim(1);
    const stored = () => world.kube.find<NodeClaim>(NODE_CLAIM, "claim-1") as NodeClaim;
    await world.kube.delete(NODE_CLAIM, { name: "claim-1" });
    await world.clock.settle();
    expect(world.cloud.isTakenBack(stored())).toBe(false);
    await send(ec2(SPOT, 1));
    const last = stored();
    expect(world.cloud.isTakenBack(last)).toBe(true);
    world.kube.vanish(NODE_CLAIM, "claim-1");
    await world.clock.settle();
    expect(world.cloud.isTakenBack(last)).toBe(false);
  });

  it("handles a thousand messages at once: every claim is deleted and no message is left", async () => {
    await begin();
    for (let n = 0; n < 50; n++) await claim(n);
    const bodies = Array.from({ length: 1_000 }, (_, n) => ec2(SPOT, n % 50));
    await send(...bodies);
    await world.clock.advance(1_000);
    for (let n = 0; n < 50; n++) expect(isDeleting(`claim-${n}`), `claim-${n}`).toBe(true);
    expect(await left()).toBe(0);
    expect(world.counts.get("interruption_received_messages_total spot_interrupted")).toBe(1_000);
    expect(world.counts.get("interruption_deleted_messages_total")).toBe(1_000);
  });

  it("receives a hundred messages with few more calls than ten at a time need", async () => {
    await begin();
    await claim(1);
    const mark = world.aws.journal.mark;
    const Entries = Array.from({ length: 10 }, (_, n) => ({
      Id: String(n),
      MessageBody: ec2(SPOT, 1),
    }));
    const tens = Array.from({ length: 10 }, () =>
      world.aws.call("sqs", "SendMessageBatch", { QueueUrl, Entries }),
    );
    await Promise.all(tens);
    await world.clock.settle();
    const calls = (action: string): number =>
      world.aws.journal.calls({ action, after: mark }).length;
    expect(await left()).toBe(0);
    // Some workers receive nothing, and the next long poll has begun.
    expect(calls("ReceiveMessage")).toBeLessThanOrEqual(14);
    expect(calls("DeleteMessageBatch")).toBe(10);
  });

  it("acts on each message even if no message can be deleted", async () => {
    await begin();
    for (let n = 0; n < 30; n++) await claim(n);
    world.aws.faults.deny("DeleteMessageBatch");
    await send(...Array.from({ length: 30 }, (_, n) => ec2(SPOT, n)));
    await world.clock.advance(10_000);
    for (let n = 0; n < 30; n++) expect(isDeleting(`claim-${n}`), `claim-${n}`).toBe(true);
    expect(await left()).toBe(30);
    expect(world.lines).toContain("Reconciler error");
  });

  it("keeps a message whose claim could not be deleted, and succeeds when it is delivered again", async () => {
    await begin();
    await claim(1);
    world.kube.undeletable.add("claim-1");
    await send(ec2(SPOT, 1));
    expect(isDeleting("claim-1")).toBe(false);
    expect(await left()).toBe(1);
    expect(world.lines).toContain("handling message");
    world.kube.undeletable.clear();
    await world.clock.advance(20_000);
    expect(isDeleting("claim-1")).toBe(true);
    expect(await left()).toBe(0);
  });

  it("acts on each instance of a message even if the first claim cannot be deleted", async () => {
    await begin();
    for (const n of [1, 2]) await claim(n);
    world.kube.undeletable.add("claim-1");
    const affectedEntities = [1, 2].map((n) => ({ entityValue: instance(n) }));
    const detail = { service: "EC2", eventTypeCategory: "scheduledChange", affectedEntities };
    const source = { version: "0", source: "aws.health", "detail-type": "AWS Health Event" };
    await send(JSON.stringify({ ...source, detail }));
    expect(isDeleting("claim-2")).toBe(true);
    expect(await left()).toBe(1);
  });

  it("S4-27: retries with growing delay if access is denied, and recovers", async () => {
    await begin();
    await claim(1);
    const undo = world.aws.faults.deny("ReceiveMessage");
    const mark = world.aws.journal.mark;
    await world.clock.advance(200_000);
    const tries = world.aws.journal.calls({ action: "ReceiveMessage", after: mark, failed: true });
    expect(tries.length).toBeGreaterThan(3);
    expect(tries.length).toBeLessThan(12);
    expect(world.lines).toContain("Reconciler error");
    undo();
    await send(ec2(SPOT, 1));
    await world.clock.advance(60_000);
    expect(isDeleting("claim-1")).toBe(true);
  });

  it("waits until a deleted queue is created again", async () => {
    await begin();
    await claim(1);
    await world.aws.call("sqs", "DeleteQueue", { QueueUrl });
    await world.clock.advance(30_000);
    await world.aws.call("sqs", "CreateQueue", { QueueName: CLUSTER });
    await send(ec2(SPOT, 1));
    await world.clock.advance(60_000);
    expect(isDeleting("claim-1")).toBe(true);
    expect(await left()).toBe(0);
  });

  it("does not run without the name of a queue", async () => {
    world = await awsWorld();
    await world.clock.advance(60_000);
    expect(world.aws.journal.calls({ service: "sqs" })).toEqual([]);
  });
});
