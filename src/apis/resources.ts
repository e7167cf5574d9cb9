/**
 * Resource amounts for the deciding code: integers, in milli for cpu and in units (bytes, counts) for
 * everything else. Parsing never throws: validation reports invalid text, which counts as 0 here.
 */
import { formatBytes, formatMilli, parseMilli, parseUnits } from "../base/quantity.ts";
import type { ResourceAmounts } from "./meta.ts";

/** Amount by resource name. A missing name is 0. Never changed after it is made. */
export type Resources = Readonly<Record<string, number>>;

/** No resources at all. Shared and frozen. */
export const NO_RESOURCES: Resources = Object.freeze({});

/** `{"cpu": "500m", "memory": "1Gi"}` → `{cpu: 500, memory: 1073741824}`. */
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
 * The inverse of {@link parseResources}, in Kubernetes' spelling: cpu in cores or milli, memory-like names in
 * binary units.
 */
export function formatResources(resources: Resources): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of Object.keys(resources).sort()) {
    result[name] = formatResource(name, resources[name] as number);
  }
  return result;
}

/** CPU as cores or millicores, bytes with a binary suffix, all else as a whole number. */
export function formatResource(name: string, amount: number): string {
  if (name === "cpu") return formatMilli(amount);
  const inBytes =
    name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
  return inBytes ? formatBytes(amount) : String(amount);
}

/** The sum by name. A missing name counts as 0. */
export function addResources(a: Resources, b: Resources): Resources {
  const result: Record<string, number> = { ...a };
  for (const name in b) result[name] = (result[name] ?? 0) + (b[name] as number);
  return result;
}

/** The difference by name. It may be negative. */
export function subtractResources(a: Resources, b: Resources): Resources {
  const result: Record<string, number> = { ...a };
  for (const name in b) result[name] = (result[name] ?? 0) - (b[name] as number);
  return result;
}

/** The larger amount of each name, for init containers and limits. */
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
