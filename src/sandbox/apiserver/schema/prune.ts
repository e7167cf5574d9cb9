/**
 * Removes fields that a structural schema does not have, and reports their paths. Objects with
 * `x-kubernetes-preserve-unknown-fields` keep unknown fields; below their known fields, pruning continues. A null
 * is removed too if null is not allowed and there is no default.
 * upstream: apiextensions-apiserver pkg/apiserver/schema/pruning
 */
import { isObject, setField } from "../../../base/json.ts";
import type { Schema } from "./schema.ts";

/** Returns the kept part of `value`. Adds the paths of removed fields to `unknown`. */
export function prune(schema: Schema, value: unknown, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return value;
    return value.map((item, index) => prune(items, item, `${path}[${index}]`, unknown));
  }
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  const each = schema.additionalProperties;
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true || each === true;
  for (const key of Object.keys(value)) {
    const properties = schema.properties;
    const own =
      properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const child = own ?? (typeof each === "object" ? each : undefined);
    const childPath = path === "" ? key : `${path}.${key}`;
    if (value[key] === null && own !== undefined && isNothing(own)) continue;
    if (child !== undefined) setField(result, key, prune(child, value[key], childPath, unknown));
    else if (keepsUnknown) setField(result, key, value[key]);
    else unknown.push(childPath);
  }
  return result;
}

/** Whether a null counts as a missing field. With a default it does not, because defaulting replaces the null. */
function isNothing(schema: Schema): boolean {
  return schema.nullable !== true && schema.default === undefined;
}
