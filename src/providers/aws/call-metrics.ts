/**
 * Counts and times the calls to AWS, each attempt and each request as a whole, under the metric names of the AWS SDK
 * for Go. The SDK for JavaScript reports its calls through middleware; an AWS in this process is wrapped.
 * upstream: awslabs/operatorpkg/aws metrics of the SDK
 */
import type { Clock } from "../../base/clock.ts";
import type { Metrics } from "../../base/metrics.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError } from "./api/call.ts";
import { overFields } from "./named-calls.ts";

/** One attempt of a call, or a whole call. */
export interface AwsCall {
  /** The service's name in AWS, such as `EC2`, `SSM` or `Pricing`. */
  readonly service: string;
  /** The name of the call, such as `DescribeSubnets`. */
  readonly action: string;
  /** The HTTP status. 0: AWS did not answer. */
  readonly status: number;
  readonly durationMs: number;
}

/** Receives each attempt of a call, and each call with all its retries. */
export interface CallObserver {
  attempt(call: AwsCall): void;
  request(call: AwsCall, retries: number): void;
}

/** An observer that counts into the aws_sdk_go metrics. */
export function callObserver(metrics: Pick<Metrics, "count" | "observe">): CallObserver {
  const labelsOf = ({ service, action, status }: AwsCall) => ({
    service,
    action,
    code: String(status),
  });
  return {
    attempt: (call) => {
      const labels = labelsOf(call);
      const seconds = call.durationMs / 1_000;
      metrics.count("aws_sdk_go_request_attempt_total", labels);
      metrics.observe("aws_sdk_go_request_attempt_duration_seconds", labels, seconds);
    },
    request: (call, retries) => {
      const labels = labelsOf(call);
      metrics.count("aws_sdk_go_request_total", labels);
      metrics.observe("aws_sdk_go_request_duration_seconds", labels, call.durationMs / 1_000);
      metrics.observe("aws_sdk_go_request_retry_count", labels, retries);
    },
  };
}

const SERVICES: Readonly<Record<string, string>> = { pricing: "Pricing" };

/** Observes the calls of an AWS without the SDK, where each call is one attempt. */
export function observedCalls(api: AwsApi, clock: Clock, observer: CallObserver): AwsApi {
  return overFields(api, (calls, name) =>
    overFields(calls as object, (call, action) =>
      typeof call === "function"
        ? observed(
            call.bind(calls),
            {
              service: SERVICES[name] ?? name.toUpperCase(),
              action: action.slice(0, 1).toUpperCase() + action.slice(1),
            },
            clock,
            observer,
          )
        : call,
    ),
  );
}

type Call = (...args: unknown[]) => Promise<unknown>;

function observed(
  call: Call,
  name: Pick<AwsCall, "service" | "action">,
  clock: Clock,
  observer: CallObserver,
): Call {
  return async (...args) => {
    const startMs = clock.elapsedMs();
    let status = 200;
    try {
      return await call(...args);
    } catch (error) {
      status = error instanceof AwsError ? error.status : 0;
      throw error;
    } finally {
      const made = { ...name, status, durationMs: clock.elapsedMs() - startMs };
      observer.attempt(made);
      observer.request(made, 0);
    }
  };
}
