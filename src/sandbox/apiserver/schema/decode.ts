/**
 * Decodes a JSON body as a built-in kind, as Go's strict decoder does:
 * - a value of a wrong type stops it, with Go's error text;
 * - unknown fields are dropped and their paths reported;
 * - nulls and empty containers disappear (omitempty);
 * - quantities get their canonical form.
 * Maps and lists that need no change are returned as they are, not copied: a write then shares what it leaves alone
 * with the stored object. Custom kinds use it for their metadata.
 * upstream: sigs.k8s.io/json, apimachinery pkg/api/resource
 */

import { canonicalQuantity } from "../../../base/canonical-quantity.ts";
import { LARGEST_INT64 } from "../../../base/int64.ts";
import { isObject, setField } from "../../../base/json.ts";
import { goStructName, goTypeName } from "./link.ts";
import type { Schema } from "./schema.ts";

const QUANTITY_TEXT =
  "quantities must match the regular expression " +
  "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * A decoded value. `problem`: Go's text for the first value of a wrong type. If it is set, `value` must not be used.
 */
export interface Decoded {
  readonly value: unknown;
  readonly unknown: readonly string[];
  readonly problem: string | undefined;
  /** Where the wrong value is, for the messages of this project's commands. */
  readonly wrong?: WrongValue;
}

/** A value of a type that its field does not allow. */
export interface WrongValue {
  /** The path with list indices. */
  readonly path: string;
  readonly value: unknown;
  /** The wanted type as Go names it, or `quantity`, or `time`. */
  readonly wanted: string;
}

/** The place of a value in the body: one step below another place. Its path is built only for an error. */
interface Place {
  readonly above: Place | undefined;
  /** The last step of the path, in messages about unknown fields: `.name`, `[0]`. Empty at the root. */
  readonly step: string;
  /** False for list indices and map keys, which Go's type errors leave out. */
  readonly isField: boolean;
  /** Name of the innermost Go struct. */
  readonly struct: string;
}

class DecodeProblem extends Error {
  readonly wrong: WrongValue;

  constructor(message: string, wrong: WrongValue) {
    super(message);
    this.wrong = wrong;
  }
}

/** Decodes `value` by `schema`. It does not throw for bad input, and does not change it. */
export function decode(schema: Schema, value: unknown): Decoded {
  const unknown: string[] = [];
  const root = { above: undefined, step: "", isField: false, struct: goStructName(schema) ?? "" };
  try {
    return { value: read(schema, value, root, unknown), unknown, problem: undefined };
  } catch (error) {
    if (!(error instanceof DecodeProblem)) throw error;
    return { value: undefined, unknown, problem: error.message, wrong: error.wrong };
  }
}

/** Adds the paths of unknown fields to `unknown`. Returns undefined if the field counts as absent. */
function read(schema: Schema, value: unknown, place: Place, unknown: string[]): unknown {
  if (value === null || value === undefined) return undefined;
  if (schema["x-kubernetes-int-or-string"] === true) return readAmount(schema, value, place);
  switch (schema.type) {
    case "object":
      if (!isObject(value)) throw mismatch(schema, value, place);
      return readObject(schema, value, place, unknown);
    case "array":
      if (!Array.isArray(value)) throw mismatch(schema, value, place);
      return readArray(schema, value, place, unknown);
    case "string":
      if (typeof value !== "string") throw mismatch(schema, value, place);
      if (schema.format === "date-time" && value !== "" && !RFC3339.test(value)) {
        throw new DecodeProblem(
          `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": ` +
            `cannot parse ${JSON.stringify(value)} as "2006"`,
          { path: pathOf(place), value, wanted: "time" },
        );
      }
      return value;
    case "integer":
      if (typeof value !== "number" || !Number.isInteger(value) || !inRange(schema, value)) {
        throw mismatch(schema, value, place);
      }
      return value;
    case "number":
      if (typeof value !== "number") throw mismatch(schema, value, place);
      return value;
    case "boolean":
      if (typeof value !== "boolean") throw mismatch(schema, value, place);
      return value;
    default:
      return value;
  }
}

function readObject(
  schema: Schema,
  value: Readonly<Record<string, unknown>>,
  place: Place,
  unknown: string[],
): unknown {
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) return value;
  if (schema.properties !== undefined) return readFields(schema, value, place, unknown);
  const each = schema.additionalProperties;
  if (typeof each !== "object") return value;
  const result: Record<string, unknown> = {};
  let isSame = true;
  for (const key of Object.keys(value)) {
    // In a map of strings, Go reads null as an empty string.
    const item =
      value[key] === null && each.type === "string" && each.format !== "quantity"
        ? ""
        : read(each, value[key], below(place, `.${key}`), unknown);
    if (item !== value[key] || item === undefined) isSame = false;
    if (item !== undefined) setField(result, key, item);
  }
  return isSame ? value : result;
}

function readFields(
  schema: Schema,
  value: Readonly<Record<string, unknown>>,
  place: Place,
  unknown: string[],
): Readonly<Record<string, unknown>> {
  const properties = schema.properties ?? {};
  const struct = goStructName(schema) ?? place.struct;
  const result: Record<string, unknown> = {};
  let isSame = true;
  for (const key of Object.keys(value)) {
    const child = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const field = { above: place, step: `.${key}`, isField: true, struct };
    const item = child === undefined ? undefined : read(child, value[key], field, unknown);
    if (child === undefined && value[key] !== undefined) unknown.push(pathOf(field));
    if (item !== value[key]) isSame = false;
    const isKept = schema.required?.includes(key) === true || TOLD_FROM_NONE[struct]?.has(key);
    const isLeftOut = child !== undefined && isEmptyContainer(child, item) && isKept !== true;
    if (item === undefined || isLeftOut) isSame = false;
    else result[key] = item;
  }
  return isSame ? value : result;
}

function readArray(
  schema: Schema,
  value: readonly unknown[],
  place: Place,
  unknown: string[],
): readonly unknown[] {
  const items = schema.items ?? {};
  let isSame = true;
  const result = value.map((item, index) => {
    const next = read(items, item, below(place, `[${index}]`), unknown);
    if (next !== item || next === undefined) isSame = false;
    return next ?? (items.type === "string" ? "" : {});
  });
  return isSame ? value : result;
}

function readAmount(schema: Schema, value: unknown, place: Place): unknown {
  const isAmount = typeof value === "string" || typeof value === "number";
  if (schema.format !== "quantity") {
    if (isAmount) return value;
    throw mismatch({ type: "string" }, value, place);
  }
  const text = isAmount ? canonicalQuantity(value) : undefined;
  if (text === undefined)
    throw new DecodeProblem(QUANTITY_TEXT, { path: pathOf(place), value, wanted: "quantity" });
  return text;
}

/** The place of a list item or a map value. */
function below(above: Place, step: string): Place {
  return { above, step, isField: false, struct: above.struct };
}

function pathOf({ above, step }: Place): string {
  return above === undefined ? step : joined(pathOf(above), step);
}

function goPathOf({ above, step, isField }: Place): string {
  if (above === undefined) return "";
  return isField ? joined(goPathOf(above), step) : goPathOf(above);
}

/** Appends a step to a path. The first field has no dot. */
function joined(path: string, step: string): string {
  return path === "" && step.startsWith(".") ? step.slice(1) : path + step;
}

/**
 * By Go struct: names of lists that decoding keeps even if they are empty. Their defaults apply only to a missing
 * list, so validation can refuse the empty one.
 * upstream: pkg/apis/autoscaling/v2/defaults.go copyHPAScalingRules
 */
const TOLD_FROM_NONE: Readonly<Record<string, ReadonlySet<string>>> = {
  HPAScalingRules: new Set(["policies"]),
};

/** True for empty maps and lists, which Go omits. Empty structs stay (`emptyDir: {}`). */
function isEmptyContainer(schema: Schema, value: unknown): boolean {
  if (Array.isArray(value)) return schema.type === "array" && value.length === 0;
  if (!isObject(value) || schema.properties !== undefined) return false;
  return typeof schema.additionalProperties === "object" && Object.keys(value).length === 0;
}

function inRange(schema: Schema, value: number): boolean {
  if (schema.format === "int32") return value >= -(2 ** 31) && value < 2 ** 31;
  return Math.abs(value) <= LARGEST_INT64;
}

function mismatch(schema: Schema, value: unknown, place: Place): DecodeProblem {
  const found = Array.isArray(value)
    ? "array"
    : typeof value === "boolean"
      ? "bool"
      : typeof value === "number" && schema.type === "integer"
        ? `number ${value}`
        : typeof value;
  const wanted = goTypeName(schema);
  const field = `${place.struct}.${goPathOf(place)}`;
  return new DecodeProblem(
    `json: cannot unmarshal ${found} into Go struct field ${field} of type ${wanted}`,
    { path: pathOf(place), value, wanted },
  );
}
