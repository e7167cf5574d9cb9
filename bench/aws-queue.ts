/**
 * A simulated AWS with a queue full of spot warnings. As a program (`aws-queue.ts COUNT`) it serves them on
 * the loopback and tells its address: the queue of `bench -- aws interruption` in a process of its own.
 * When it is ended it tells how much cpu the serving took.
 */
import { Random } from "../src/base/random.ts";
import { SystemClock } from "../src/base/system-clock.ts";
import { createSdkApi } from "../src/providers/aws/sdk.ts";
import { createSimulatedAws, type SimulatedAws } from "../src/sandbox/ec2/simulated-aws.ts";
import { startAwsEndpoint } from "../src/sandbox/ec2/wire/server.ts";
import { CLUSTER, REGION } from "../src/testing/aws-world.ts";

/** One message for each of `count` instances. */
export async function fullQueue(count: number): Promise<SimulatedAws> {
  const aws = createSimulatedAws({
    clock: new SystemClock(),
    random: new Random("queue"),
    region: REGION,
    clusterName: CLUSTER,
    kubernetesVersion: "1.34",
    nodeGroup: false,
    onInstance: () => undefined,
  });
  await fill(aws, count);
  return aws;
}

async function fill(aws: SimulatedAws, count: number): Promise<void> {
  const { QueueUrl } = (await aws.call("sqs", "GetQueueUrl", { QueueName: CLUSTER })) as {
    QueueUrl: string;
  };
  for (let n = 0; n < count; n++) {
    const instance = `i-${String(n).padStart(17, "0")}`;
    const detail = { "instance-id": instance, "instance-action": "terminate" };
    const type = "EC2 Spot Instance Interruption Warning";
    const event = { version: "0", source: "aws.ec2", "detail-type": type, detail };
    await aws.call("sqs", "SendMessage", { QueueUrl, MessageBody: JSON.stringify(event) });
  }
}

/** Takes everything out by way of the wire, so that the server is compiled when it counts. */
async function drain(endpoint: string): Promise<void> {
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const { sqs } = createSdkApi({ region: REGION, endpoint, credentials });
  const { QueueUrl } = await sqs.getQueueUrl({ QueueName: CLUSTER });
  if (QueueUrl === undefined) throw new Error(`there is no queue ${CLUSTER}`);
  for (;;) {
    const { Messages = [] } = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    if (Messages.length === 0) return;
    const Entries = Messages.map(({ ReceiptHandle }, at) => ({ Id: `${at}`, ReceiptHandle }));
    await sqs.deleteMessageBatch({ QueueUrl, Entries });
  }
}

/** Messages that a server has answered before the counted ones. */
const WARM_UP = 3_000;

const count = Number(process.argv[2]);
if (process.argv[1]?.endsWith("aws-queue.ts") && count > 0) {
  const aws = await fullQueue(WARM_UP);
  const { url } = await startAwsEndpoint(aws, { port: 0 });
  await drain(url);
  await fill(aws, count);
  const before = process.cpuUsage();
  process.on("SIGTERM", () => {
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(`${Math.round((user + system) / 1_000)}\n`, () => process.exit(0));
  });
  process.stdout.write(`${url}\n`);
}
