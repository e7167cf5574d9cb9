/**
 * Reads a JSON body as a built-in kind, as Go's strict decoder does: wrong types end it with Go's
 * own words, unknown fields are dropped and reported by path, nulls and empty containers vanish
 * (omitempty), quantities take their canonical spelling. Custom kinds use it for their metadata.
 * upstream: sigs.k8s.io/json, apimachinery pkg/api/resource
 */
import { isObject } from "../../../base/json.ts";
import { canonicalQuantity } from "./canonical-quantity.ts";
import { goStructName, goTypeName } from "./link.ts";
import type { Schema } from "./schema.ts";

const QUANTITY_TEXT =
  "quantities must match the regular expression " +
  "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** `problem` is Go's text for the first value of a wrong type; then `value` is not to be used. */
export interface Decoded {
  readonly value: unknown;
  readonly unknown: readonly string[];
  readonly problem: string | undefined;
  /** Where `problem` is, for those who do not speak Go. */
  readonly wrong?: WrongValue;
}

/** A value that its field cannot hold. */
export interface WrongValue {
  /** With indexes. */
  readonly path: string;
  readonly value: unknown;
  /** Go's type, or `quantity`, or `time`. */
  readonly wanted: string;
}

interface Walk {
  readonly unknown: string[];
}

class DecodeProblem extends Error {
  readonly wrong: WrongValue;

  constructor(message: string, wrong: WrongValue) {
    super(message);
    this.wrong = wrong;
  }
}

/** Reads `value` by `schema`. Never throws for bad input; the input is not changed. */
export function decode(schema: Schema, value: unknown): Decoded {
  const walk: Walk = { unknown: [] };
  try {
    const root = goStructName(schema) ?? "";
    return {
      value: read(walk, schema, value, "", "", root),
      unknown: walk.unknown,
      problem: undefined,
    };
  } catch (error) {
    if (error instanceof DecodeProblem)
      return {
        value: undefined,
        unknown: walk.unknown,
        problem: error.message,
        wrong: error.wrong,
      };
    throw error;
  }
}

/**
 * `path` has indexes (for unknown fields), `goPath` has none (for Go's errors), `struct` is the
 * innermost Go struct. Undefined = the field is absent.
 */
function read(
  walk: Walk,
  schema: Schema,
  value: unknown,
  path: string,
  goPath: string,
  struct: string,
): unknown {
  if (value === null || value === undefined) return undefined;
  if (schema["x-kubernetes-int-or-string"] === true)
    return readAmount(schema, value, path, goPath, struct);
  switch (schema.type) {
    case "object":
      return readObject(walk, schema, value, path, goPath, struct);
    case "array":
      if (!Array.isArray(value)) throw mismatch(schema, value, path, goPath, struct);
      return readArray(walk, schema, value, path, goPath, struct);
    case "string":
      if (typeof value !== "string") throw mismatch(schema, value, path, goPath, struct);
      if (schema.format === "date-time" && value !== "" && !RFC3339.test(value)) {
        throw new DecodeProblem(
          `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": ` +
            `cannot parse ${JSON.stringify(value)} as "2006"`,
          { path, value, wanted: "time" },
        );
      }
      return value;
    case "integer":
      if (typeof value !== "number" || !Number.isInteger(value) || !inRange(schema, value)) {
        throw mismatch(schema, value, path, goPath, struct);
      }
      return value;
    case "number":
      if (typeof value !== "number") throw mismatch(schema, value, path, goPath, struct);
      return value;
    case "boolean":
      if (typeof value !== "boolean") throw mismatch(schema, value, path, goPath, struct);
      return value;
    default:
      return value;
  }
}

function readObject(
  walk: Walk,
  schema: Schema,
  value: unknown,
  path: string,
  goPath: string,
  struct: string,
): unknown {
  if (!isObject(value)) throw mismatch(schema, value, path, goPath, struct);
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) return value;
  const result: Record<string, unknown> = {};
  const properties = schema.properties;
  if (properties !== undefined) {
    const inner = goStructName(schema) ?? struct;
    for (const key of Object.keys(value)) {
      const child = Object.hasOwn(properties, key) ? properties[key] : undefined;
      const childPath = path === "" ? key : `${path}.${key}`;
      if (child === undefined) {
        if (value[key] !== undefined) walk.unknown.push(childPath);
        continue;
      }
      const childGoPath = goPath === "" ? key : `${goPath}.${key}`;
      const read_ = read(walk, child, value[key], childPath, childGoPath, inner);
      if (read_ === undefined) continue;
      if (isEmptyContainer(child, read_) && schema.required?.includes(key) !== true) continue;
      result[key] = read_;
    }
    return result;
  }
  const each = schema.additionalProperties;
  if (typeof each !== "object") return value;
  for (const key of Object.keys(value)) {
    // A null in a map of strings is Go's empty string.
    const item =
      value[key] === null && each.type === "string" && each.format !== "quantity"
        ? ""
        : read(walk, each, value[key], `${path}.${key}`, goPath, struct);
    if (item !== undefined) result[key] = item;
  }
  return result;
}

function readArray(
  walk: Walk,
  schema: Schema,
  value: readonly unknown[],
  path: string,
  goPath: string,
  struct: string,
): unknown[] {
  const items = schema.items ?? {};
  return value.map(
    (item, index) =>
      read(walk, items, item, `${path}[${index}]`, goPath, struct) ??
      (items.type === "string" ? "" : {}),
  );
}

function readAmount(
  schema: Schema,
  value: unknown,
  path: string,
  goPath: string,
  struct: string,
): unknown {
  const isAmount = typeof value === "string" || typeof value === "number";
  if (schema.format !== "quantity") {
    if (isAmount) return value;
    throw mismatch({ type: "string" }, value, path, goPath, struct);
  }
  const text = isAmount ? canonicalQuantity(value) : undefined;
  if (text === undefined)
    throw new DecodeProblem(QUANTITY_TEXT, { path, value, wanted: "quantity" });
  return text;
}

/** Go drops empty maps and lists that are `omitempty`; empty structs stay (`emptyDir: {}`). */
function isEmptyContainer(schema: Schema, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === "array" && value.length === 0;
  if (!isObject(value) || schema.properties !== undefined) return false;
  return typeof schema.additionalProperties === "object" && Object.keys(value).length === 0;
}

function inRange(schema: Schema, value: number): boolean {
  return schema.format !== "int32" || (value >= -(2 ** 31) && value < 2 ** 31);
}

function mismatch(
  schema: Schema,
  value: unknown,
  path: string,
  goPath: string,
  struct: string,
): DecodeProblem {
  const number = schema.type === "integer" ? `number ${value}` : "number";
  const found = Array.isArray(value)
    ? "array"
    : typeof value === "boolean"
      ? "bool"
      : typeof value === "number"
        ? number
        : typeof value;
  const wanted = goTypeName(schema);
  return new DecodeProblem(
    `json: cannot unmarshal ${found} into Go struct field ${struct}.${goPath} of type ${wanted}`,
    { path, value, wanted },
  );
}
