/**
 * Resource amounts for code that decides: integers, in thousandths of a core for cpu and in units (bytes, counts) for
 * everything else. Parsing never throws: invalid text counts as 0 here, and validation reports it.
 */
import { formatBytes, formatMilli, parseMilli, parseUnits } from "../base/quantity.ts";
import type { ResourceAmounts } from "./meta.ts";

/** Amounts by resource name. A missing name means 0. The object is immutable. */
export type Resources = Readonly<Record<string, number>>;

/** No resources at all. One frozen object, used everywhere. */
export const NO_RESOURCES: Resources = Object.freeze({});

/** Parses amounts: `{"cpu": "500m", "memory": "1Gi"}` → `{cpu: 500, memory: 1073741824}`. */
export function parseResources(amounts: ResourceAmounts | undefined): Resources {
  if (amounts === undefined) return NO_RESOURCES;
  const result: Record<string, number> = {};
  for (const name of Object.keys(amounts)) {
    const text = amounts[name] as string | number;
    result[name] = (name === "cpu" ? parseMilli(text) : parseUnits(text)) ?? 0;
  }
  return result;
}

/**
 * Converts amounts back to text as Kubernetes writes it: cpu in cores or thousandths, memory and the like in binary
 * units.
 */
export function formatResources(resources: Resources): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of Object.keys(resources).sort()) {
    result[name] = formatResource(name, resources[name] as number);
  }
  return result;
}

/** Writes one amount: cpu in cores or thousandths, bytes with a binary suffix, all else as a whole number. */
export function formatResource(name: string, amount: number): string {
  if (name === "cpu") return formatMilli(amount);
  const inBytes =
    name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
  return inBytes ? formatBytes(amount) : String(amount);
}

/** The sum for each resource name. A missing name counts as 0. */
export function addResources(a: Resources, b: Resources): Resources {
  const result: Record<string, number> = { ...a };
  for (const name in b) result[name] = (result[name] ?? 0) + (b[name] as number);
  return result;
}

/** Adds amounts to `sum`, which is changed. For sums over very many objects, where copies would take too long. */
export function addToSum(sum: Record<string, number>, more: Resources): void {
  for (const name in more) sum[name] = (sum[name] ?? 0) + (more[name] as number);
}

/** The difference for each resource name. It may be negative. */
export function subtractResources(a: Resources, b: Resources): Resources {
  const result: Record<string, number> = { ...a };
  for (const name in b) result[name] = (result[name] ?? 0) - (b[name] as number);
  return result;
}

/** The larger amount for each resource name, for init containers and limits. */
export function maxResources(a: Resources, b: Resources): Resources {
  const result: Record<string, number> = { ...a };
  for (const name in b) result[name] = Math.max(result[name] ?? 0, b[name] as number);
  return result;
}

/** Whether every amount in `wanted` is at most that in `available`. A missing name counts as 0. */
export function fits(wanted: Resources, available: Resources): boolean {
  for (const name in wanted) {
    if ((wanted[name] as number) > (available[name] ?? 0)) return false;
  }
  return true;
}
