/** Checks an expectation of a scenario, and describes the difference. */

import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ScenarioResources } from "./resources.ts";
import type { Promised } from "./scenario.ts";

/** One sentence about what breaks the expectation. Undefined: it holds. */
export async function broken(
  promise: Promised,
  client: KubeClient,
  resources: ScenarioResources,
): Promise<string | undefined> {
  const kind = await resources.kind(promise.apiVersion, promise.kind);
  const { items } = await client.list(kind, {
    ...(promise.namespace === undefined ? {} : { namespace: promise.namespace }),
    ...(promise.selector === undefined ? {} : { labelSelector: promise.selector }),
  });
  const matching = items.filter((item) =>
    Object.entries(promise.where).every(([path, wanted]) => valueAt(item, path) === wanted),
  );
  const { op, n } = promise.count;
  const holds =
    op === "=" ? matching.length === n : op === ">=" ? matching.length >= n : matching.length <= n;
  if (holds) return undefined;
  const names = matching.slice(0, 5).map(keyOf).join(", ");
  const more = matching.length > 5 ? `, and ${matching.length - 5} more` : "";
  return `${describePromise(promise)}: found ${matching.length} of ${items.length}${names === "" ? "" : ` (${names}${more})`}`;
}

/** The expectation in words: `3 Pods app=inflate with status.phase=Running`. */
export function describePromise(promise: Promised): string {
  const { op, n } = promise.count;
  const count = op === "=" ? String(n) : op === ">=" ? `at least ${n}` : `at most ${n}`;
  const where = Object.entries(promise.where).map(([path, wanted]) => `${path}=${wanted}`);
  return [
    `${count} ${promise.kind}${n === 1 ? "" : "s"}`,
    ...(promise.selector === undefined ? [] : [promise.selector]),
    ...(where.length === 0 ? [] : [`with ${where.join(", ")}`]),
  ].join(" ");
}

/**
 * The text at a dotted path. `conditions[Ready]` selects the status of a condition, `[0]` an item. Exported
 * for tests.
 */
export function valueAt(object: KubeObject, path: string): string {
  let value: unknown = object;
  for (const part of path.match(/\[[^\]]+\]|[^.[\]]+(?:\\\.[^.[\]]+)*/g) ?? []) {
    if (part.startsWith("[")) value = pick(value, part.slice(1, -1));
    else value = isObject(value) ? value[part.replaceAll("\\.", ".")] : undefined;
  }
  return value === undefined || value === null
    ? ""
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
}

function pick(value: unknown, index: string): unknown {
  if (Array.isArray(value) && /^\d+$/.test(index)) return value[Number(index)];
  if (Array.isArray(value)) {
    return (value as { type?: string; status?: string }[]).find((item) => item.type === index)
      ?.status;
  }
  return isObject(value) ? value[index] : undefined;
}
