/** What the doctor tries beyond the API: names that must resolve, and AWS where there are credentials and a region. */
import { lookup } from "node:dns/promises";
import { firstLineOf } from "../../base/error-text.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import type { SubnetRoom, Tried } from "./facts.ts";

/** Whether the host of an address has one. */
export function tryName(
  what: string,
  url: string,
  resolve: (host: string) => Promise<unknown> = lookup,
): () => Promise<Tried> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  return attempt(`${what} ${host}`, () => resolve(host));
}

/** An image that EKS publishes in every region: whether SSM answers at all is the question. */
const PUBLISHED =
  "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id";

/** Calls that read, one for each service that a launch needs; and the queue, if there is one. */
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

/** Asks EC2 how many addresses each subnet has left. Subnets that are gone are left out. */
export function roomOfSubnets(
  api: Pick<AwsApi, "ec2">,
): (ids: readonly string[]) => Promise<readonly SubnetRoom[]> {
  return async (ids) => {
    // By a filter: an id that is gone is then no error.
    const { Subnets } = await api.ec2.describeSubnets({
      Filters: [{ Name: "subnet-id", Values: ids }],
    });
    return Subnets.map(({ SubnetId, AvailableIpAddressCount }) => ({
      id: SubnetId,
      free: AvailableIpAddressCount,
    }));
  };
}

/** A service that knows no such thing has answered. */
async function answers(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof Error && error.name === "ParameterNotFound")) throw error;
  }
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
      return { what, problem: firstLineOf(error), ...(instead === undefined ? {} : { instead }) };
    }
  };
}
