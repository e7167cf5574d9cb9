/**
 * Finds fields of a value that a schema does not have, and values that it does not allow. The API server would drop such
 * fields. helm refuses both.
 */
import { isObject } from "../../base/json.ts";
import type { ValueSchema } from "./facts.ts";

/** Paths of fields that the schema does not have, such as `spec.template.spec.flavour`, in the order of the object. */
export function unknownFields(
  value: unknown,
  schema: ValueSchema | undefined,
  path = "",
): readonly string[] {
  if (schema === undefined || schema["x-kubernetes-preserve-unknown-fields"] === true) return [];
  if (Array.isArray(value))
    return value.flatMap((item, index) => unknownFields(item, schema.items, `${path}[${index}]`));
  if (!isObject(value)) return [];
  const { properties, additionalProperties } = schema;
  // A schema without properties allows all fields.
  if (properties === undefined && additionalProperties !== false) {
    if (!isObject(additionalProperties)) return [];
    const each = additionalProperties as ValueSchema;
    return Object.entries(value).flatMap(([key, item]) =>
      unknownFields(item, each, below(path, key)),
    );
  }
  return Object.entries(value).flatMap(([key, item]) => {
    const known = properties?.[key];
    return known === undefined ? [below(path, key)] : unknownFields(item, known, below(path, key));
  });
}

function below(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** A value that the schema does not allow. */
export interface RefusedValue {
  readonly path: string;
  /** What the schema wants, such as `an integer` or `one of debug, info`. */
  readonly wanted: string;
}

/**
 * Values whose type, choice, pattern or range the schema does not allow. Missing fields are allowed, because the chart
 * has defaults. A null is allowed, because helm takes the value out then.
 */
export function refusedValues(
  value: unknown,
  schema: ValueSchema | undefined,
  path = "",
): readonly RefusedValue[] {
  if (schema === undefined || value === null) return [];
  const wanted = wantedInstead(value, schema);
  if (wanted !== undefined) return [{ path, wanted }];
  if (Array.isArray(value))
    return value.flatMap((item, index) => refusedValues(item, schema.items, `${path}[${index}]`));
  if (!isObject(value)) return [];
  const { properties, additionalProperties } = schema;
  const others = isObject(additionalProperties) ? (additionalProperties as ValueSchema) : undefined;
  return Object.entries(value).flatMap(([key, item]) =>
    refusedValues(item, properties?.[key] ?? others, below(path, key)),
  );
}

/** What the schema wants in place of `value`. Undefined: it allows the value itself. */
function wantedInstead(value: unknown, schema: ValueSchema): string | undefined {
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => hasType(value, type)))
    return types
      .filter((type) => type !== "null")
      .map((type) => TYPE_WORDS[type] ?? type)
      .join(" or ");
  const { enum: choices, pattern, minimum, maximum } = schema;
  if (Array.isArray(choices) && !choices.includes(value))
    return `one of ${choices.map((one) => (one === "" ? '""' : String(one))).join(", ")}`;
  if (typeof value === "string" && typeof pattern === "string" && !new RegExp(pattern).test(value))
    return `a text like ${pattern}`;
  if (typeof value !== "number") return undefined;
  if (typeof minimum === "number" && value < minimum) return `at least ${minimum}`;
  return typeof maximum === "number" && value > maximum ? `at most ${maximum}` : undefined;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a text",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
}
