/**
 * A simulated AWS with a queue full of spot warnings. Run as a program, it serves AWS on the loopback and prints its
 * address. Then each line on its input says with how many messages to fill the queue. For each fill it prints the CPU
 * time of serving until then, and when the queue was full, by a clock that all processes of the machine share.
 * Used by `npm run bench -- aws interruption`, as a process of its own.
 */
import { createInterface } from "node:readline";
import { Random } from "../src/base/random.ts";
import { SystemClock } from "../src/base/system-clock.ts";
import { createSimulatedAws, type SimulatedAws } from "../src/sandbox/ec2/simulated-aws.ts";
import { startAwsEndpoint } from "../src/sandbox/ec2/wire/server.ts";
import { CLUSTER, REGION } from "../src/testing/aws-world.ts";

export function emptyQueue(): SimulatedAws {
  return createSimulatedAws({
    clock: new SystemClock(),
    random: new Random("queue"),
    region: REGION,
    clusterName: CLUSTER,
    kubernetesVersion: "1.34",
    nodeGroup: false,
    onInstance: () => undefined,
  });
}

/** Milliseconds of the machine's monotonic clock, which all its processes share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** One message for each of `count` instances. */
export async function fill(aws: SimulatedAws, count: number): Promise<void> {
  const { QueueUrl } = (await aws.call("sqs", "GetQueueUrl", { QueueName: CLUSTER })) as {
    QueueUrl: string;
  };
  const entry = (n: number): object => {
    const instance = `i-${String(n).padStart(17, "0")}`;
    const detail = { "instance-id": instance, "instance-action": "terminate" };
    const type = "EC2 Spot Instance Interruption Warning";
    const event = { version: "0", source: "aws.ec2", "detail-type": type, detail };
    return { Id: String(n), MessageBody: JSON.stringify(event) };
  };
  for (let sent = 0; sent < count; sent += 10) {
    const Entries = Array.from({ length: Math.min(10, count - sent) }, (_, n) => entry(sent + n));
    await aws.call("sqs", "SendMessageBatch", { QueueUrl, Entries });
  }
}

if (process.argv[1]?.endsWith("aws-queue.ts")) {
  const aws = emptyQueue();
  const { url } = await startAwsEndpoint(aws, { port: 0 });
  process.stdout.write(`${url}\n`);
  let before = process.cpuUsage();
  for await (const line of createInterface({ input: process.stdin })) {
    const { user, system } = process.cpuUsage(before);
    await fill(aws, Number(line));
    const fullAtMs = machineMs();
    before = process.cpuUsage();
    process.stdout.write(`${Math.round((user + system) / 1_000)} ${fullAtMs}\n`);
  }
  process.exit(0);
}
