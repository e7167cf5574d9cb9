/**
 * Checks fields of built-in kinds that allow only certain values. The allowed values come from the schema.
 * kube-apiserver has code for each field, with the same error text. Subtrees without enums are skipped.
 */
import { isObject } from "../../../base/json.ts";
import { notSupported } from "../schema/field-error.ts";
import type { FieldError, Schema } from "../schema/schema.ts";

const enumsBelow = new Map<Schema, boolean>();

/** Appends an error for each value that is not allowed. Empty text counts as absent. */
export function validateEnums(
  schema: Schema,
  value: unknown,
  path: string,
  errors: FieldError[],
): void {
  if (!hasEnums(schema)) return;
  if (schema.enum !== undefined) {
    if (value !== "" && !schema.enum.includes(value)) {
      errors.push(notSupported(path, value, shown(schema.enum)));
    }
    return;
  }
  if (Array.isArray(value)) {
    const items = schema.items as Schema;
    value.forEach((item, index) => {
      validateEnums(items, item, `${path}[${index}]`, errors);
    });
    return;
  }
  if (!isObject(value)) return;
  for (const key of Object.keys(value)) {
    const properties = schema.properties;
    const child =
      properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const next = child ?? schema.additionalProperties;
    if (typeof next !== "object") continue;
    validateEnums(next, value[key], path === "" ? key : `${path}.${key}`, errors);
  }
}

/** The order of allowed values in the message. Kubernetes sorts them, except for restart policies. */
function shown(words: readonly unknown[]): readonly unknown[] {
  const isPolicy = words.length === 3 && words.includes("OnFailure");
  return isPolicy ? ["Always", "OnFailure", "Never"] : words;
}

function hasEnums(schema: Schema): boolean {
  const known = enumsBelow.get(schema);
  if (known !== undefined) return known;
  if (schema.enum !== undefined) return remember(schema, true);
  enumsBelow.set(schema, false);
  const children = [...Object.values(schema.properties ?? {})];
  if (schema.items !== undefined) children.push(schema.items);
  if (typeof schema.additionalProperties === "object") children.push(schema.additionalProperties);
  return remember(schema, children.some(hasEnums));
}

function remember(schema: Schema, answer: boolean): boolean {
  enumsBelow.set(schema, answer);
  return answer;
}
