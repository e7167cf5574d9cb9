/**
 * Checks that the fields of an object have the types of its schema. Code that reads a spec relies on that. But not
 * every object was checked by an API server: files for the command line, and webhook reviews, which anybody can send.
 */
import { isObject, textOf } from "../../base/json.ts";
import { customResourceDefinitions } from "./all.ts";
import { type JsonSchema, list, object, text, textMap } from "./schema.ts";

const METADATA: JsonSchema = object("", {
  name: text(""),
  namespace: text(""),
  labels: textMap(""),
  annotations: textMap(""),
  finalizers: list("", { type: "string" }),
});

/** Schemas by `apiVersion kind`. Built only once, because that takes about 0.1 s, too long for each review. */
let schemas: ReadonlyMap<string, JsonSchema> | undefined;

function schemaOf(apiVersion: unknown, kind: unknown): JsonSchema | undefined {
  schemas ??= new Map(
    customResourceDefinitions().flatMap(({ spec }) =>
      spec.versions.map(({ name, schema }) => [
        `${spec.group}/${name} ${textOf(spec.names["kind"])}`,
        schema.openAPIV3Schema,
      ]),
    ),
  );
  return schemas.get(`${textOf(apiVersion)} ${textOf(kind)}`);
}

/**
 * A message about the first field of a wrong type, such as `spec.template.spec: wanted an object, got null`. Undefined:
 * there is none, or the kind is unknown. A null in place of an absent field is accepted, and the status is not checked.
 */
export function typeProblem(
  value: object,
  apiVersion: unknown = (value as { apiVersion?: unknown }).apiVersion,
): string | undefined {
  const { kind, metadata, spec } = value as Readonly<Record<string, unknown>>;
  const schema = schemaOf(apiVersion, kind)?.properties?.["spec"];
  if (schema === undefined) return undefined;
  return wrongType(metadata, METADATA, "metadata") ?? wrongType(spec, schema, "spec");
}

/**
 * A message about the first field of a wrong type in the status, without its conditions. Used for objects in files,
 * because the API server checks only the statuses that it stores.
 */
export function statusTypeProblem(object: object): string | undefined {
  const { apiVersion, kind, status } = object as Readonly<Record<string, unknown>>;
  const schema = schemaOf(apiVersion, kind)?.properties?.["status"];
  if (schema === undefined || status === undefined || status === null) return undefined;
  if (!isObject(status)) return wrong("status", "an object", status);
  const { conditions: _, ...others } = status;
  return wrongType(others, schema, "status");
}

/** A message about the first part of `value` with a wrong type. Undefined: all types are right. */
function wrongType(value: unknown, schema: JsonSchema, path: string): string | undefined {
  if (schema["x-kubernetes-int-or-string"] === true)
    return typeof value === "string" || typeof value === "number"
      ? undefined
      : wrong(path, "a text or a number", value);
  switch (schema.type) {
    case "string":
      return typeof value === "string" ? undefined : wrong(path, "a text", value);
    case "integer":
    case "number":
      return typeof value === "number" ? undefined : wrong(path, "a number", value);
    case "boolean":
      return typeof value === "boolean" ? undefined : wrong(path, "true or false", value);
    case "array":
      if (!Array.isArray(value)) return wrong(path, "a list", value);
      return firstOf(value.keys(), (index) =>
        wrongType(value[index], schema.items ?? {}, `${path}[${index}]`),
      );
    case "object":
      return isObject(value) ? wrongField(value, schema, path) : wrong(path, "an object", value);
    default:
      return undefined;
  }
}

function wrongField(
  value: Readonly<Record<string, unknown>>,
  { properties = {}, additionalProperties, required = [] }: JsonSchema,
  path: string,
): string | undefined {
  const missing = required.find(
    (name) => (value[name] ?? undefined) === undefined && properties[name]?.type !== "array",
  );
  if (missing !== undefined) return `${path}.${missing}: is missing`;
  return firstOf(Object.keys(value), (name) => {
    const given = value[name];
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    // Some clients write null for an absent field. In a map, null is a value.
    const isAbsent = given === undefined || (given === null && known !== undefined);
    const schema = known ?? additionalProperties;
    return isAbsent || schema === undefined
      ? undefined
      : wrongType(given, schema, `${path}.${name}`);
  });
}

function firstOf<T>(
  items: Iterable<T>,
  problemOf: (item: T) => string | undefined,
): string | undefined {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const MOST_SHOWN = 60;

function wrong(path: string, wanted: string, value: unknown): string {
  const got =
    value === undefined
      ? "nothing"
      : Array.isArray(value)
        ? "a list"
        : isObject(value)
          ? "an object"
          : JSON.stringify(value).slice(0, MOST_SHOWN);
  return `${path}: wanted ${wanted}, got ${got}`;
}
