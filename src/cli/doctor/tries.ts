/** What the doctor tries beyond the API: names that must resolve, and AWS where there are credentials and a region. */
import { lookup } from "node:dns/promises";
import { firstLineOf } from "../../base/error-text.ts";
import type { AwsApi } from "../../providers/aws/api/aws-api.ts";
import type { Tried } from "./facts.ts";

/** Whether the host of an address has one. */
export function tryName(
  what: string,
  url: string,
  resolve: (host: string) => Promise<unknown> = lookup,
): () => Promise<Tried> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  return attempt(`${what} ${host}`, () => resolve(host));
}

/** Calls that read, one for each service that a launch needs; and the queue, if there is one. */
export function tryAws(
  api: Pick<AwsApi, "ec2" | "sts" | "sqs">,
  queue: string | undefined,
): readonly (() => Promise<Tried>)[] {
  return [
    attempt("AWS credentials", () => api.sts.getCallerIdentity({})),
    attempt("EC2", () => api.ec2.describeAvailabilityZones({})),
    queue === undefined || queue === ""
      ? async () => ({
          what: "interruption queue",
          skipped: "No queue was named: --interruption-queue NAME",
        })
      : attempt(`interruption queue ${queue}`, () => api.sqs.getQueueUrl({ QueueName: queue })),
  ];
}

function attempt(what: string, call: () => Promise<unknown>): () => Promise<Tried> {
  return async () => {
    try {
      await call();
      return { what };
    } catch (error) {
      return { what, problem: firstLineOf(error) };
    }
  };
}
