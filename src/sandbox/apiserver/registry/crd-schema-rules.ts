/**
 * Validation of the schema of a CustomResourceDefinition. It must be structural, because only then can the
 * server prune and default objects. Its CEL rules must compile.
 * upstream: apiextensions-apiserver pkg/apis/apiextensions/validation, pkg/apiserver/schema/validation.go
 */

import { compileRe2 } from "../../../readers/re2.ts";
import { ruleProblem } from "../cel/rules.ts";
import { forbidden, invalid, notSupported, required, typeInvalid } from "../schema/field-error.ts";
import type { FieldError, Schema } from "../schema/schema.ts";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
const LIST_TYPES = ["atomic", "set", "map"];
/** The only metadata fields that a CRD's schema may restrict. */
const SAID_OF_METADATA: ReadonlySet<string> = new Set(["name", "generateName"]);

/** Errors of a CRD's schema. Empty if it is structural, and its patterns, defaults and rules are valid. */
export function schemaErrors(schema: Schema, path: string): FieldError[] {
  if (schema.type === undefined) return [required(`${path}.type`, "must not be empty at the root")];
  if (schema.type !== "object")
    return [invalid(`${path}.type`, schema.type, "must be object at the root")];
  const { metadata } = schema.properties ?? {};
  const errors = nodeErrors(schema, path, "");
  if (Object.keys(metadata?.properties ?? {}).some((name) => !SAID_OF_METADATA.has(name))) {
    const text =
      "must not specify anything other than name and generateName, but metadata is implicitly specified";
    errors.push(forbidden(`${path}.properties[metadata]`, text));
  }
  return errors;
}

/**
 * Errors of a schema. `what`: the name of the schema in the error about a missing type; empty if no type is required.
 */
function nodeErrors(schema: Schema, path: string, what: string): FieldError[] {
  const { type, properties = {}, items, additionalProperties } = schema;
  const errors: FieldError[] = [];
  const isOpen =
    schema["x-kubernetes-int-or-string"] === true ||
    schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (type === undefined && what !== "" && !isOpen)
    errors.push(required(`${path}.type`, `must not be empty for specified ${what}`));
  if (type !== undefined && !TYPES.includes(type))
    errors.push(notSupported(`${path}.type`, type, TYPES));
  if (type === "array" && items === undefined)
    errors.push(required(`${path}.items`, "must be specified"));
  if (schema.uniqueItems === true) {
    const text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    errors.push(forbidden(`${path}.uniqueItems`, text));
  }
  errors.push(...patternErrors(schema, path), ...defaultErrors(schema, path));
  errors.push(...listErrors(schema, path), ...junctorErrors(schema, path));
  (schema["x-kubernetes-validations"] ?? []).forEach((rule, index) => {
    const problem = ruleProblem(rule, `${path}.x-kubernetes-validations[${index}].rule`);
    if (problem !== undefined) errors.push(problem);
  });
  for (const [name, child] of Object.entries(properties))
    errors.push(...nodeErrors(child, `${path}.properties[${name}]`, "object fields"));
  if (items !== undefined) errors.push(...nodeErrors(items, `${path}.items`, "array items"));
  if (typeof additionalProperties === "object") {
    const inner = `${path}.additionalProperties`;
    errors.push(...nodeErrors(additionalProperties, inner, "object fields"));
  }
  return errors;
}

function patternErrors({ pattern }: Schema, path: string): FieldError[] {
  if (pattern === undefined) return [];
  const compiled = compileRe2(pattern);
  if (typeof compiled !== "string") return [];
  const text = `must be a valid regular expression, but isn't: ${compiled}`;
  return [invalid(`${path}.pattern`, pattern, text)];
}

/** Checks the type of a default value. A default object is not checked for missing or wrong fields. */
function defaultErrors(schema: Schema, path: string): FieldError[] {
  const { type } = schema;
  const given = schema.default;
  if (given === undefined || given === null || type === undefined) return [];
  const found = typeOf(given);
  if (found === type || (type === "number" && found === "integer")) return [];
  const text = ` in body must be of type ${type}: "${found}"`;
  return [typeInvalid(`${path}.default`, found, text)];
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

function listErrors(schema: Schema, path: string): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType === undefined) return [];
  const field = `${path}.x-kubernetes-list-type`;
  if (!LIST_TYPES.includes(listType)) return [notSupported(field, listType, LIST_TYPES)];
  if (listType !== "map") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const { items = {} } = schema;
  const errors: FieldError[] = [];
  if (keys.length === 0) {
    const text = "must not be empty if x-kubernetes-list-type is map";
    errors.push(required(`${path}.x-kubernetes-list-map-keys`, text));
  }
  if (items.type !== "object") {
    const text = "must be object if parent array's x-kubernetes-list-type is map";
    errors.push(invalid(`${path}.items.type`, items.type ?? "", text));
  }
  for (const key of keys) {
    const property = items.properties?.[key];
    if (property === undefined || property.default !== undefined) continue;
    if (items.required?.includes(key) === true) continue;
    const text =
      "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
    errors.push(required(`${path}.items.properties[${key}].default`, text));
  }
  return errors;
}

/** Schemas below anyOf, allOf, oneOf and not may only validate. They must not describe fields. */
function junctorErrors(schema: Schema, path: string): FieldError[] {
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  const described = (one: Schema, at: string): FieldError[] =>
    (["type", "default", "description"] as const)
      .filter((field) => one[field] !== undefined && !(field === "type" && isIntOrString))
      .map((field) => forbidden(`${at}.${field}`, "must be empty to be structural"));
  const errors = (["allOf", "anyOf", "oneOf"] as const).flatMap((name) =>
    (schema[name] ?? []).flatMap((one, index) => described(one, `${path}.${name}[${index}]`)),
  );
  return schema.not === undefined ? errors : [...errors, ...described(schema.not, `${path}.not`)];
}
