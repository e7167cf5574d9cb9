/** What the doctor tries outside the cluster: DNS names, and AWS calls if there are credentials and a region. */
import { lookup } from "node:dns/promises";
import { firstLineOf } from "../../base/error-text.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import { AwsError } from "../../providers/aws/api/call.ts";
import type { SubnetRoom, Tried } from "./facts.ts";

/** Whether the host name in an address resolves. */
export function tryName(
  what: string,
  url: string,
  resolve: (host: string) => Promise<unknown> = lookup,
): () => Promise<Tried> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  return attempt(`${what} ${host}`, () => resolve(host));
}

/** A parameter that EKS publishes in every region, to test whether SSM answers. */
const PUBLISHED =
  "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id";

/** One read-only call for each service that a launch needs, and one for the queue if there is one. */
export function tryAws(
  api: Pick<AwsApi, "ec2" | "sts" | "sqs" | "ssm" | "pricing">,
  queue: string | undefined,
): readonly (() => Promise<Tried>)[] {
  return [
    attempt("AWS credentials", () => api.sts.getCallerIdentity({})),
    attempt("EC2", () => api.ec2.describeAvailabilityZones({})),
    attempt("SSM", () => answers(() => api.ssm.getParameter({ Name: PUBLISHED }))),
    attempt(
      "prices",
      () => api.pricing.getProducts({ ServiceCode: "AmazonEC2", Filters: [], MaxResults: 1 }),
      "the prices of the program's catalogue are used",
    ),
    queue === undefined || queue === ""
      ? async () => ({
          what: "interruption queue",
          skipped: "No queue was named: --interruption-queue NAME",
        })
      : attempt(`interruption queue ${queue}`, () => api.sqs.getQueueUrl({ QueueName: queue })),
  ];
}

/** The number of free addresses of each subnet. Subnets that do not exist are left out. */
export function roomOfSubnets(
  api: Pick<AwsApi, "ec2">,
): (ids: readonly string[]) => Promise<readonly SubnetRoom[]> {
  return async (ids) => {
    // With a filter instead of ids, EC2 returns no error for an id that does not exist.
    const { Subnets } = await api.ec2.describeSubnets({
      Filters: [{ Name: "subnet-id", Values: ids }],
    });
    return Subnets.map(({ SubnetId, AvailableIpAddressCount }) => ({
      id: SubnetId,
      free: AvailableIpAddressCount,
    }));
  };
}

/** Makes the call. It also succeeds if the service answers that the object does not exist. */
async function answers(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof AwsError && error.code === "ParameterNotFound")) throw error;
  }
}

const NO_QUEUE =
  "create the queue (docs/tasks/aws-account.md), or name another in settings.interruptionQueue; mind account and region";

/** Whether SQS says that there is no such queue. Its older protocol has the longer code. */
function isNoQueue(error: unknown): boolean {
  return error instanceof AwsError && /(QueueDoesNotExist|NonExistentQueue)$/.test(error.code);
}

function attempt(
  what: string,
  call: () => Promise<unknown>,
  instead?: string,
): () => Promise<Tried> {
  return async () => {
    try {
      await call();
      return { what };
    } catch (error) {
      return {
        what,
        problem: firstLineOf(error),
        ...(instead === undefined ? {} : { instead }),
        ...(isNoQueue(error) ? { remedy: NO_QUEUE } : {}),
      };
    }
  };
}
