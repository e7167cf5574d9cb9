/**
 * The error for a patch whose result cannot be decoded as its kind. kube-apiserver's text depends on the
 * patch language: JSON and merge patches show the patched object, strategic ones the patch as Go prints a
 * map, server-side apply the path in the typed object.
 * upstream: apiserver pkg/endpoints/handlers/patch.go, apimachinery pkg/runtime/converter.go,
 * structured-merge-diff typed/validate.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { isObject } from "../../../base/json.ts";
import type { Call } from "../engine.ts";
import { goText } from "../request/go-json.ts";
import { ApiError, invalid } from "../request/status.ts";
import { invalid as invalidField } from "../schema/field-error.ts";
import type { Schema } from "../schema/schema.ts";

/** Go's message for a value of the wrong type: the found type, the field and the wanted type. */
const MISMATCH =
  /^json: cannot unmarshal (\w+)(?: \S+)? into Go struct field \w+?\.(\S+) of type (.+)$/;

/**
 * The error 422 for a patch whose result does not decode. `problem`: the decoder's text, such as `strict
 * decoding error: unknown field "spec.replicaz"`.
 */
export function refusedPatch(call: Call, patched: KubeObject, problem: string): ApiError {
  const isStrategic = (call.headers["content-type"] ?? "").includes("strategic-merge-patch");
  const shown = isStrategic ? goText(call.body) : JSON.stringify(patched);
  const words = isStrategic ? converterText(problem) : problem;
  return invalid({ group: "", kind: "" }, "", [invalidField("patch", shown, words)]);
}

/**
 * The error for an applied configuration that does not fit its kind. It has no reason, as upstream, and does
 * not depend on fieldValidation.
 */
export function untypedApply(
  call: Call,
  kind: string,
  config: KubeObject,
  unknown: readonly string[],
  malformed: string | undefined,
): ApiError {
  const { definition } = call;
  const errors =
    malformed === undefined
      ? unknown.map(
          (field) => `${typedPath(field, config, definition.schema)}: field not declared in schema`,
        )
      : [typedText(malformed, config)];
  const text = errors.length === 1 ? errors[0] : `errors:\n  ${errors.join("\n  ")}`;
  const { name = "", namespace = "" } = config.metadata;
  const key = `${namespace}/${name}`;
  return new ApiError(500, "", `failed to create typed patch object (${key}; ${kind}): ${text}`);
}

function converterText(problem: string): string {
  const [, found, , wanted] = MISMATCH.exec(problem) ?? [];
  if (found === undefined || wanted === undefined) return problem;
  if (wanted.startsWith("[]")) return `cannot restore slice from ${goTypeOf(found)}`;
  if (wanted.startsWith("map[")) return `cannot restore map from ${goTypeOf(found)}`;
  if (wanted.includes(".")) return `cannot restore struct from: ${goTypeOf(found)}`;
  if (found === "number" && wanted === "string") return "cannot convert int64 to string";
  return `unrecognized type: ${wanted}`;
}

function typedText(problem: string, config: unknown): string {
  const [, found, path, wanted] = MISMATCH.exec(problem) ?? [];
  if (found === undefined || wanted === undefined) return problem;
  const expected = wanted.startsWith("[]")
    ? "list"
    : wanted.startsWith("int")
      ? "numeric (int or float)"
      : wanted === "bool"
        ? "boolean"
        : wanted === "string"
          ? "string"
          : "map";
  const [key, value] = wrongEntry(config, path ?? "", found) ?? [];
  if (key !== undefined)
    return `.${path}.${key}: expected ${expected}, got &value.valueUnstructured{Value:${goText(value)}}`;
  return `.${path}: expected ${expected}, got ${goTypeOf(found)}`;
}

/**
 * If the value at the path is a free map: its first entry, by key, whose value has the type `found`. Undefined
 * otherwise.
 */
function wrongEntry(
  config: unknown,
  path: string,
  found: string,
): readonly [string, unknown] | undefined {
  const map = path
    .split(".")
    .reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), config);
  if (!isObject(map) || found === "object") return undefined;
  const isFound = (value: unknown): boolean =>
    found === "array"
      ? Array.isArray(value)
      : typeof value === (found === "bool" ? "boolean" : found);
  return Object.entries(map)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .find(([, value]) => isFound(value));
}

/** The Go type of a decoded JSON value. */
function goTypeOf(found: string): string {
  if (found === "number") return "int64";
  if (found === "object") return "map[string]interface {}";
  return found === "array" ? "[]interface {}" : found;
}

/**
 * Rewrites a path with indices to keys: `spec.containers[0].imagee` becomes
 * `.spec.containers[name="web"].imagee`.
 */
function typedPath(path: string, config: unknown, schema: Schema): string {
  let text = "";
  let value = config;
  let at: Schema | undefined = schema;
  for (const [part, index] of path.matchAll(/\[(\d+)\]|[^.[\]]+/g)) {
    if (index === undefined) {
      text += `.${part}`;
      value = isObject(value) ? value[part] : undefined;
      at = at?.properties?.[part];
      continue;
    }
    const keys: readonly string[] = at?.["x-kubernetes-list-map-keys"] ?? [];
    const item = Array.isArray(value) ? (value[Number(index)] as unknown) : undefined;
    const named = keys.flatMap((key) =>
      isObject(item) && item[key] !== undefined ? [`${key}=${JSON.stringify(item[key])}`] : [],
    );
    text += named.length === 0 ? `[${index}]` : `[${named.join(",")}]`;
    value = item;
    at = at?.items;
  }
  return text;
}
