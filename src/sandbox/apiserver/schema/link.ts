/**
 * Resolves the `$ref`s of OpenAPI definitions, so that schemas hold each other directly. The result can be
 * cyclic, because a JSON schema describes itself. So walk a schema only along an object, never alone. Each
 * linked schema also keeps its Go type, for decoding errors.
 */
import type { Schema } from "./schema.ts";

const REF_PREFIX = "#/definitions/";
const QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/** Definitions whose content is any JSON. */
const FREE_FORM = [
  "io.k8s.apimachinery.pkg.runtime.RawExtension",
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
];

/** The definition of a Go type, `io.k8s.api.core.v1.PodSpec`, and the name of its struct, `PodSpec`. */
interface GoName {
  readonly definition: string;
  readonly struct: string;
}

const goNames = new WeakMap<Schema, GoName>();

function nameGoType(schema: Schema, definition: string): void {
  goNames.set(schema, { definition, struct: definition.split(".").at(-1) as string });
}

type Loose = { -readonly [K in keyof Schema]: Schema[K] };

/** Links the definitions in place, and returns the schemas by definition name. Do not use the input afterwards. */
export function linkDefinitions(raw: Record<string, Schema>): ReadonlyMap<string, Schema> {
  const byName = new Map<string, Schema>(Object.entries(raw));
  for (const [name, schema] of byName) {
    nameGoType(schema, name);
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

/** The name of the Go struct of a schema, such as `PodSpec`; undefined if it has none. */
export function goStructName(schema: Schema): string | undefined {
  return goNames.get(schema)?.struct;
}

/** A schema for a Go struct that no OpenAPI document describes, such as `v1.Status`. */
export function goStruct(name: string, properties: Readonly<Record<string, Schema>>): Schema {
  const schema: Schema = { type: "object", properties };
  nameGoType(schema, name);
  return schema;
}

/** The Go type as encoding/json prints it: `v1.PodSpec`, `map[string]string`, `int32`. */
export function goTypeName(schema: Schema): string {
  const definition = goNames.get(schema)?.definition;
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
  // Fields beside a reference, such as a merge strategy, apply only here. The copy shares the target's
  // containers, so linking the target later links this copy too.
  const merged = { ...target, ...beside };
  const name = goNames.get(target);
  if (name !== undefined) goNames.set(merged, name);
  return merged;
}
