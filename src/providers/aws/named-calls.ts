/**
 * Writes into each error of AWS which call it answers: "not authorized" alone tells a reader of the log
 * nothing to act on. Throttling and silence of AWS, which the provider mostly bridges, are said here; so is, at
 * debug, who was refused what in the text that EC2 encodes, for whoever may have it decoded.
 */
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError } from "./api/call.ts";
import type { FleetError } from "./api/launches.ts";
import { describeError, encodedRefusal, isPassing } from "./errors.ts";

/** How often the same call is told of while AWS does not answer it. */
const TELL_MS = 60_000;

/** The same calls; their errors know their `action`, in AWS's spelling: `DescribeSubnets`. */
export function namedCalls(api: AwsApi, { clock, log }: { clock: Clock; log: Logger }): AwsApi {
  const toldMs = new Map<string, number>();

  function tell(action: string, error: AwsError): void {
    const nowMs = clock.elapsedMs();
    if (nowMs - (toldMs.get(action) ?? Number.NEGATIVE_INFINITY) < TELL_MS) return;
    toldMs.set(action, nowMs);
    log.warn("AWS does not answer for now, trying again", { action, error: describeError(error) });
  }

  function tellEncoded(action: string, message: string): void {
    const encodedMessage = encodedRefusal(message);
    if (encodedMessage === undefined) return;
    const remedy =
      "aws sts decode-authorization-message --encoded-message tells who was refused what";
    log.debug("AWS refused a call", { action, encodedMessage, remedy });
  }

  function named(call: Call, name: string): Call {
    const action = name.slice(0, 1).toUpperCase() + name.slice(1);
    return async (...args) => {
      try {
        const answer = await call(...args);
        // Of a fleet's instances, which were refused one by one.
        const { Errors = [] } = (answer ?? {}) as { readonly Errors?: readonly FleetError[] };
        for (const { ErrorMessage } of Errors) tellEncoded(action, ErrorMessage);
        return answer;
      } catch (error) {
        if (error instanceof AwsError) {
          error.action ??= action;
          tellEncoded(action, error.message);
          if (isPassing(error)) tell(action, error);
        }
        throw error;
      }
    };
  }

  return overFields(api, (service) =>
    overFields(service as object, (call, name) =>
      typeof call === "function" ? named(call.bind(service), name) : call,
    ),
  );
}

type Call = (...args: unknown[]) => Promise<unknown>;

/** A view of an object, each field changed once, when it is first asked for. */
export function overFields<T extends object>(
  object: T,
  change: (value: unknown, name: string) => unknown,
): T {
  const known = new Map<PropertyKey, unknown>();
  return new Proxy(object, {
    get: (target, key) => {
      if (typeof key === "symbol") return Reflect.get(target, key);
      if (!known.has(key)) known.set(key, change(Reflect.get(target, key), key));
      return known.get(key);
    },
  });
}
