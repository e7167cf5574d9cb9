/**
 * Turns the `definitions` of an OpenAPI document into schemas that hold each other directly, so
 * that no walker looks up a `$ref`. The result may be cyclic (a JSON schema describes itself):
 * walk it along an object, never by itself. Each linked schema remembers the Go type it stands
 * for, because decoding errors name it.
 */
import type { Schema } from "./schema.ts";

const REF_PREFIX = "#/definitions/";
const QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/** Definitions whose content is free JSON. */
const FREE_FORM = [
  "io.k8s.apimachinery.pkg.runtime.RawExtension",
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
];

const goNames = new WeakMap<Schema, string>();

type Loose = { -readonly [K in keyof Schema]: Schema[K] };

/**
 * Links in place and returns the schemas by definition name. The input must not be used otherwise.
 */
export function linkDefinitions(raw: Record<string, Schema>): ReadonlyMap<string, Schema> {
  const byName = new Map<string, Schema>(Object.entries(raw));
  for (const [name, schema] of byName) {
    goNames.set(schema, name);
    if (name === QUANTITY) {
      (schema as Loose).format = "quantity";
      (schema as Loose)["x-kubernetes-int-or-string"] = true;
    }
    if (schema.format === "int-or-string") (schema as Loose)["x-kubernetes-int-or-string"] = true;
    if (FREE_FORM.includes(name)) (schema as Loose)["x-kubernetes-preserve-unknown-fields"] = true;
  }
  for (const schema of byName.values()) linkChildren(schema, byName);
  return byName;
}

/**
 * `PodSpec` for the schema of a pod's spec; undefined for schemas without a Go struct of their
 * own.
 */
export function goStructName(schema: Schema): string | undefined {
  return goNames.get(schema)?.split(".").at(-1);
}

/** The schema of a Go struct by name (`v1.Status`), for values that no document describes. */
export function goStruct(name: string, properties: Readonly<Record<string, Schema>>): Schema {
  const schema: Schema = { type: "object", properties };
  goNames.set(schema, name);
  return schema;
}

/** The Go type as encoding/json prints it: `v1.PodSpec`, `map[string]string`, `int32`. */
export function goTypeName(schema: Schema): string {
  const definition = goNames.get(schema);
  if (definition !== undefined && schema.type === "object") {
    return definition.split(".").slice(-2).join(".");
  }
  switch (schema.type) {
    case "array":
      return `[]${goTypeName(schema.items ?? {})}`;
    case "object":
      return typeof schema.additionalProperties === "object"
        ? `map[string]${goTypeName(schema.additionalProperties)}`
        : "map[string]interface {}";
    case "integer":
      return schema.format ?? "int64";
    case "number":
      return "float64";
    case "boolean":
      return "bool";
    default:
      return schema.type ?? "interface {}";
  }
}

function linkChildren(schema: Schema, byName: ReadonlyMap<string, Schema>): void {
  const loose = schema as Loose;
  if (schema.properties !== undefined) {
    const properties = schema.properties as Record<string, Schema>;
    for (const key of Object.keys(properties)) {
      properties[key] = linkOne(properties[key] as Schema, byName);
    }
  }
  if (schema.items !== undefined) loose.items = linkOne(schema.items, byName);
  if (typeof schema.additionalProperties === "object") {
    loose.additionalProperties = linkOne(schema.additionalProperties, byName);
  }
}

function linkOne(schema: Schema, byName: ReadonlyMap<string, Schema>): Schema {
  if (schema.$ref === undefined) {
    linkChildren(schema, byName);
    return schema;
  }
  const target = byName.get(schema.$ref.slice(REF_PREFIX.length)) ?? {};
  const { $ref: _, ...beside } = schema;
  if (Object.keys(beside).length === 0) return target;
  // What stands beside a reference (a merge strategy) belongs to this use of the type alone. The
  // target's own containers are shared, so linking it later reaches this copy too.
  const merged = { ...target, ...beside };
  const name = goNames.get(target);
  if (name !== undefined) goNames.set(merged, name);
  return merged;
}
