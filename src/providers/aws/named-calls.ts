/**
 * Writes into each error of AWS which call it answers: "not authorized" alone tells a reader of the log
 * nothing to act on.
 */
import { type AwsApi, AwsError } from "./api.ts";

/** The same calls; their errors know their `action`, in AWS's spelling: `DescribeSubnets`. */
export function namedCalls(api: AwsApi): AwsApi {
  return overFields(api, (service) =>
    overFields(service as object, (call, name) =>
      typeof call === "function" ? named(call.bind(service), name) : call,
    ),
  );
}

type Call = (...args: unknown[]) => Promise<unknown>;

function named(call: Call, name: string): Call {
  const action = name.slice(0, 1).toUpperCase() + name.slice(1);
  return async (...args) => {
    try {
      return await call(...args);
    } catch (error) {
      if (error instanceof AwsError) error.action ??= action;
      throw error;
    }
  };
}

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
