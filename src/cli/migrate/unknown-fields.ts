/** Fields of a value that a schema does not know: what the API server would drop, or helm would refuse. */
import { isObject } from "../../base/json.ts";
import type { ValueSchema } from "./facts.ts";

/** Paths such as `spec.template.spec.flavour`, in the order of the object. */
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
  // A schema that names no fields takes all.
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
