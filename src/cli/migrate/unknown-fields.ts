/**
 * Finds fields of a value that a schema does not have. The API server would drop them, and helm would refuse them.
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
