/**
 * Removes fields that a structural schema does not have, and reports their paths. Objects with
 * `x-kubernetes-preserve-unknown-fields` keep unknown fields; below their known fields, pruning continues. A null
 * is removed too if null is not allowed and there is no default. Parts that lose nothing are returned as they are, not
 * copied.
 * upstream: apiextensions-apiserver pkg/apiserver/schema/pruning
 */
import { isObject, setField } from "../../../base/json.ts";
import type { Schema } from "./schema.ts";

/** Returns the kept part of `value`. Adds the paths of removed fields to `unknown`. */
export function prune(schema: Schema, value: unknown, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return value;
    let isSame = true;
    const kept = value.map((item, index) => {
      const next = prune(items, item, `${path}[${index}]`, unknown);
      if (next !== item) isSame = false;
      return next;
    });
    return isSame ? value : kept;
  }
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  let isSame = true;
  const each = schema.additionalProperties;
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true || each === true;
  for (const key of Object.keys(value)) {
    const properties = schema.properties;
    const own =
      properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const child = own ?? (typeof each === "object" ? each : undefined);
    const childPath = path === "" ? key : `${path}.${key}`;
    const isNull = value[key] === null && own !== undefined && isNothing(own);
    if (isNull || (child === undefined && !keepsUnknown)) {
      isSame = false;
      if (!isNull) unknown.push(childPath);
      continue;
    }
    const next = child === undefined ? value[key] : prune(child, value[key], childPath, unknown);
    if (next !== value[key]) isSame = false;
    setField(result, key, next);
  }
  return isSame ? value : result;
}

/** Whether a null counts as a missing field. With a default it does not, because defaulting replaces the null. */
function isNothing(schema: Schema): boolean {
  return schema.nullable !== true && schema.default === undefined;
}
