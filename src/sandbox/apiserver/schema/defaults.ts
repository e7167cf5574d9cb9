/**
 * Writes the defaults of a structural schema into an object, for missing fields and for nulls where null is
 * not allowed. A default object gets the defaults of its own fields.
 * upstream: apiextensions-apiserver pkg/apiserver/schema/defaulting
 */
import { clone, fieldOf, isObject, setField } from "../../../base/json.ts";
import type { Schema } from "./schema.ts";

const hasDefaults = new WeakMap<Schema, boolean>();

/**
 * The value with the defaults of the schema. Returns `value` itself if no default was needed. The input is never
 * changed.
 */
export function applySchemaDefaults(schema: Schema, value: unknown): unknown {
  if (!mayDefault(schema)) return value;
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return value;
    let changed = false;
    const result = value.map((item) => {
      const next =
        item === null && items.default !== undefined && items.nullable !== true
          ? clone(items.default)
          : applySchemaDefaults(items, item);
      changed ||= next !== item;
      return next;
    });
    return changed ? result : value;
  }
  return isObject(value) ? defaultObject(schema, value) : value;
}

function defaultObject(schema: Schema, value: Record<string, unknown>): unknown {
  let result: Record<string, unknown> | undefined;
  const set = (key: string, next: unknown): void => {
    result ??= { ...value };
    if (next === undefined) delete result[key];
    else setField(result, key, next);
  };
  const each = schema.additionalProperties;
  if (typeof each === "object") {
    for (const key of Object.keys(value)) {
      const next = applySchemaDefaults(each, value[key]);
      if (next !== value[key]) set(key, next);
    }
  }
  const properties = schema.properties ?? {};
  for (const key of Object.keys(properties)) {
    const child = properties[key] as Schema;
    const before = fieldOf(value, key);
    const isMissing = before === undefined || (before === null && child.nullable !== true);
    if (isMissing && child.default !== undefined) {
      set(key, applySchemaDefaults(child, clone(child.default)));
    } else if (before !== undefined && before !== null) {
      const next = applySchemaDefaults(child, before);
      if (next !== before) set(key, next);
    }
  }
  return result ?? value;
}

/** Whether any default exists in this subtree. Most have none and need no walk. */
function mayDefault(schema: Schema): boolean {
  const known = hasDefaults.get(schema);
  if (known !== undefined) return known;
  hasDefaults.set(schema, false);
  const children = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : []),
  ];
  const answer = children.some((child) => child.default !== undefined || mayDefault(child));
  hasDefaults.set(schema, answer);
  return answer;
}
