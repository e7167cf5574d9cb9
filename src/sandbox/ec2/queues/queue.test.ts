import { beforeEach, describe, expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { QueueMessage } from "../../../providers/aws/api/sqs.ts";
import { createSimulatedAws, type SimulatedAws } from "../simulated-aws.ts";

const QueueUrl = "https://sqs.us-west-2.amazonaws.com/123456789012/karpenter-demo";

let clock: VirtualClock;
let aws: SimulatedAws;

beforeEach(() => {
  clock = new VirtualClock();
  aws = createSimulatedAws({
    clock,
    random: new Random("seed"),
    region: "us-west-2",
    clusterName: "karpenter-demo",
    kubernetesVersion: "1.34",
    onInstance: () => undefined,
  });
});

async function send(...bodies: string[]): Promise<void> {
  for (const MessageBody of bodies) await aws.call("sqs", "SendMessage", { QueueUrl, MessageBody });
}

async function receive(input: object = {}): Promise<readonly QueueMessage[]> {
  const request = { QueueUrl, MaxNumberOfMessages: 10, ...input };
  return (await aws.api.sqs.receiveMessage(request)).Messages ?? [];
}

async function attributes(): Promise<Record<string, string>> {
  const input = { QueueUrl, AttributeNames: ["All"] };
  const { Attributes } = (await aws.call("sqs", "GetQueueAttributes", input)) as {
    Attributes: Record<string, string>;
  };
  return Attributes;
}

function bodies(messages: readonly QueueMessage[]): readonly string[] {
  return messages.map(({ Body }) => Body);
}

describe("a simulated queue", () => {
  it("S4-23: exists from the start under the cluster's name, and keeps messages for 300 s", async () => {
    const { QueueUrl: url } = await aws.api.sqs.getQueueUrl({ QueueName: "karpenter-demo" });
    expect(url).toBe(QueueUrl);
    expect((await attributes())["MessageRetentionPeriod"]).toBe("300");
    await send("old");
    await clock.advance(299_000);
    await send("new");
    expect((await attributes())["ApproximateNumberOfMessages"]).toBe("2");
    await clock.advance(1_000);
    expect(bodies(await receive())).toEqual(["new"]);
  });

  it("hides received messages until their timeout, then delivers them again", async () => {
    await send("a");
    const [first] = await receive({ VisibilityTimeout: 20 });
    expect(first?.Body).toBe("a");
    expect(await receive()).toEqual([]);
    expect((await attributes())["ApproximateNumberOfMessagesNotVisible"]).toBe("1");
    await clock.advance(20_000);
    const [again] = await receive({ MessageSystemAttributeNames: ["All"] });
    expect(again?.Attributes?.["ApproximateReceiveCount"]).toBe("2");
    expect(again?.ReceiptHandle).not.toBe(first?.ReceiptHandle);
  });

  it("deletes a message by its newest receipt only", async () => {
    await send("a");
    const [old] = await receive({ VisibilityTimeout: 0 });
    const [newest] = await receive({ VisibilityTimeout: 0 });
    const remove = (message: QueueMessage | undefined): Promise<unknown> =>
      aws.call("sqs", "DeleteMessage", { QueueUrl, ReceiptHandle: message?.ReceiptHandle });
    await remove(old);
    expect(bodies(await receive({ VisibilityTimeout: 0 }))).toEqual(["a"]);
    const [last] = await receive({ VisibilityTimeout: 0 });
    await remove(newest);
    await remove(last);
    expect(await receive()).toEqual([]);
    await expect(remove({ ...last, ReceiptHandle: "x" } as QueueMessage)).rejects.toMatchObject({
      code: "ReceiptHandleIsInvalid",
    });
  });

  it("lets a long poll wait for a message, for at most the requested time", async () => {
    const waiting = receive({ WaitTimeSeconds: 20 });
    await clock.advance(7_000);
    await send("late");
    expect(bodies(await waiting)).toEqual(["late"]);

    let ended: number | undefined;
    void receive({ WaitTimeSeconds: 20 }).then(() => {
      ended = clock.now();
    });
    const startMs = clock.now();
    await clock.advance(60_000);
    expect(ended).toBe(startMs + 20_000);
  });

  it("ends a long poll when a hidden message becomes visible", async () => {
    await send("a");
    await receive({ VisibilityTimeout: 5 });
    const waiting = receive({ WaitTimeSeconds: 20 });
    await clock.advance(5_000);
    expect(bodies(await waiting)).toEqual(["a"]);
  });

  it("keeps a message for the next receiver if the waiting one has disconnected", async () => {
    const gone = new AbortController();
    const request = { QueueUrl, WaitTimeSeconds: 20 };
    const waiting = aws.api.sqs.receiveMessage(request, { signal: gone.signal });
    await clock.advance(1_000);
    gone.abort();
    expect((await waiting).Messages ?? []).toEqual([]);
    await send("a");
    expect(bodies(await receive())).toEqual(["a"]);
  });

  it("refuses all callers after it is deleted, including waiting ones", async () => {
    const waiting = receive({ WaitTimeSeconds: 20 });
    await clock.settle();
    await aws.call("sqs", "DeleteQueue", { QueueUrl });
    await expect(waiting).rejects.toMatchObject({ code: "QueueDoesNotExist" });
    await expect(receive()).rejects.toMatchObject({ code: "QueueDoesNotExist" });
    await expect(aws.api.sqs.getQueueUrl({ QueueName: "karpenter-demo" })).rejects.toMatchObject({
      code: "QueueDoesNotExist",
    });
  });

  it.each([
    [{ MaxNumberOfMessages: 11 }, "InvalidParameterValue"],
    [{ WaitTimeSeconds: 21 }, "InvalidParameterValue"],
    [{ QueueUrl: "https://sqs/1/other" }, "QueueDoesNotExist"],
    [{ QueueUrl: "" }, "MissingParameter"],
  ])("refuses %j with %s", async (input, code) => {
    await expect(receive(input)).rejects.toMatchObject({ code });
  });

  it("answers AccessDenied, not EC2's code, to callers without permission", async () => {
    aws.faults.deny("ReceiveMessage", 1);
    await expect(receive()).rejects.toMatchObject({ code: "AccessDenied", status: 403 });
    expect(await receive()).toEqual([]);
  });
});

describe("the simulated event bus", () => {
  const notice = {
    source: "aws.ec2",
    "detail-type": "EC2 Spot Instance Interruption Warning",
    resources: [],
    detail: { "instance-id": "i-1", "instance-action": "terminate" },
  };

  it("S4-23, S4-24, S4-25: sends events that match a rule's pattern to the rule's queue, complete", async () => {
    aws.controls.putEvent(notice);
    aws.controls.putEvent({ ...notice, source: "aws.s3" });
    const [message, ...others] = await receive();
    expect(others).toEqual([]);
    expect(JSON.parse(message?.Body ?? "")).toMatchObject({
      ...notice,
      version: "0",
      region: "us-west-2",
      account: "123456789012",
      time: "2026-01-05T08:00:00Z",
    });
  });

  it("accepts more rules, with prefixes and details, and refuses patterns that it cannot match", async () => {
    await aws.call("sqs", "CreateQueue", { QueueName: "ours" });
    const EventPattern = JSON.stringify({
      source: [{ prefix: "aws." }],
      detail: { "instance-id": ["i-1", "i-2"] },
    });
    await aws.call("events", "PutRule", { Name: "ours", EventPattern });
    const Targets = [{ Id: "q", Arn: "arn:aws:sqs:us-west-2:123456789012:ours" }];
    await aws.call("events", "PutTargets", { Rule: "ours", Targets });
    aws.controls.putEvent(notice);
    aws.controls.putEvent({ ...notice, detail: { "instance-id": "i-3" } });
    expect(await receive({ QueueUrl: QueueUrl.replace("karpenter-demo", "ours") })).toHaveLength(1);

    const bad = JSON.stringify({ source: [{ exists: true }] });
    await expect(
      aws.call("events", "PutRule", { Name: "bad", EventPattern: bad }),
    ).rejects.toMatchObject({ code: "InvalidEventPatternException" });
  });

  it("has the rules of Karpenter's installation", async () => {
    const { Rules } = (await aws.call("events", "ListRules", {})) as { Rules: { Name: string }[] };
    expect(Rules.map(({ Name }) => Name)).toEqual([
      "ScheduledChangeRule",
      "SpotInterruptionRule",
      "RebalanceRule",
      "InstanceStateChangeRule",
      "CapacityReservationInterruptionRule",
    ]);
  });

  it("gets an event for each change of an instance", async () => {
    const [id = ""] = aws.state.instances.keys();
    aws.controls.scheduleRetirement(id);
    aws.controls.stopInstance(id);
    await clock.advance(10_000);
    aws.controls.failInstance(id);
    await clock.advance(20_000);
    const told = (await receive()).map(({ Body }) => {
      const event = JSON.parse(Body) as Record<string, string> & { detail: { state?: string } };
      return `${event["detail-type"]} ${event.detail.state ?? ""}`.trim();
    });
    expect(told).toEqual([
      "AWS Health Event",
      ...["stopping", "stopped", "shutting-down", "terminated"].map(
        (state) => `EC2 Instance State-change Notification ${state}`,
      ),
    ]);
  });
});
