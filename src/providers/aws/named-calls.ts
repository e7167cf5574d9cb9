/**
 * Adds the name of the AWS call to each error, because "not authorized" alone does not tell which permission is
 * missing. Errors that make AWS unusable (credentials, permissions, a missing queue, no answer) are logged at once and
 * then every minute. EC2's encoded refusals are logged at level debug, for those who may decode them.
 */
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { Reminders } from "../../base/reminders.ts";
import type { AwsApi } from "./api/aws-api.ts";
import { AwsError } from "./api/call.ts";
import type { FleetError } from "./api/launches.ts";
import { troubleOf } from "./call-troubles.ts";
import { describeError, encodedRefusal } from "./errors.ts";

/** Wraps all calls of `api`. Each error has the name of its call in `action`, in AWS's spelling: `DescribeSubnets`. */
export function namedCalls(api: AwsApi, { clock, log }: { clock: Clock; log: Logger }): AwsApi {
  const reminders = new Reminders(clock);

  function tell(action: string, error: AwsError): void {
    const trouble = troubleOf(error);
    if (trouble === undefined) return;
    const { message, remedy, perAction, passes } = trouble;
    if (!reminders.isDue(perAction === true ? `${message}: ${action}` : message)) return;
    const fields = { action, error: describeError(error), remedy };
    if (passes === true) log.warn(message, fields);
    else log.error(message, fields);
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
        // A fleet call can succeed while single instances were refused: their errors are in the answer.
        const { Errors = [] } = (answer ?? {}) as { readonly Errors?: readonly FleetError[] };
        for (const { ErrorMessage } of Errors) tellEncoded(action, ErrorMessage);
        return answer;
      } catch (error) {
        if (error instanceof AwsError) {
          error.action ??= action;
          tellEncoded(action, error.message);
          tell(action, error);
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

/** A view of an object: each field is converted when it is first read. */
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
