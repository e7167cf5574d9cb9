/**
 * Answers `/openapi/v2`, `/openapi/v3` and the v3 document of each group version. A document is built on the
 * first request and kept until the set of served resources changes.
 */
import { canonicalJson, isObject } from "../../../base/json.ts";
import { type DocumentResponse, json } from "../discovery/discovery.ts";
import type { Registry, ResourceDefinition } from "../resource-definition.ts";
import type { Schema } from "../schema/schema.ts";
import {
  builtinOpenapiDefinitions,
  customOpenapiDefinitions,
  isBuiltinGroup,
  LIST_META,
  OBJECT_META,
  REF_PREFIX,
  reachable,
} from "./definitions.ts";
import { encodeOpenapiV2 } from "./gnostic.ts";
import { resourcePaths } from "./paths.ts";

const PROTOBUF_V2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const COMPONENTS_PREFIX = "#/components/schemas/";

/** Schema keywords that OpenAPI v2 does not have. */
const V3_ONLY = ["anyOf", "oneOf", "allOf", "not", "nullable"];

interface Documents {
  v2?: Record<string, unknown>;
  v2Bytes?: Uint8Array;
  readonly v3: Map<string, Record<string, unknown>>;
}

/** Documents of built-in group versions. They are the same for every registry. */
const builtinV3 = new Map<string, Record<string, unknown>>();

/** Documents by the registry's list of resources. The registry makes a new list when its resources change. */
const documents = new WeakMap<readonly ResourceDefinition[], Documents>();

/** The answer to a GET of `path` (a query is ignored), or undefined if this is not an OpenAPI path. */
export function openapiResponse(
  registry: Registry,
  path: string,
  accept: string | undefined,
): DocumentResponse | undefined {
  const [clean = ""] = path.split("?");
  const parts = clean.split("/").filter((part) => part !== "");
  if (parts[0] !== "openapi") return undefined;
  if (parts[1] === "v2" && parts.length === 2) return v2Response(registry, accept);
  if (parts[1] !== "v3") return undefined;
  if (parts.length === 2) return json(v3Index(registry));
  const document = v3Document(registry, parts.slice(2).join("/"));
  return document === undefined ? undefined : json(document);
}

function v2Response(registry: Registry, accept: string | undefined): DocumentResponse {
  const kept = documentsOf(registry);
  kept.v2 ??= v2Document(registry);
  if (!/com\.github\.proto-openapi\.spec\.v2[@.]v1\.0\+protobuf/.test(accept ?? "")) {
    return json(kept.v2);
  }
  kept.v2Bytes ??= encodeOpenapiV2(kept.v2);
  return { status: 200, headers: { "content-type": PROTOBUF_V2 }, body: kept.v2Bytes };
}

function documentsOf(registry: Registry): Documents {
  const list = registry.list();
  let kept = documents.get(list);
  if (kept === undefined) {
    kept = { v3: new Map() };
    documents.set(list, kept);
  }
  return kept;
}

function v2Document(registry: Registry): Record<string, unknown> {
  const definitions: Record<string, unknown> = { ...builtinOpenapiDefinitions() };
  const paths: Record<string, unknown> = {};
  for (const definition of registry.list()) {
    Object.assign(paths, resourcePaths(definition, "v2"));
    if (isBuiltinGroup(definition.group)) continue;
    for (const [name, schema] of Object.entries(customOpenapiDefinitions(definition))) {
      definitions[name] = toV2(schema);
    }
  }
  const info = { title: "Kubernetes", version: "unversioned" };
  return { swagger: "2.0", info, paths, definitions };
}

/** Removes the keywords that v2 does not have, and the type of nullable fields. */
function toV2(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toV2);
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (V3_ONLY.includes(key)) continue;
    if (key === "type" && value["nullable"] === true) continue;
    if (key === "default" || key === "enum" || key.startsWith("x-")) result[key] = value[key];
    else if (key === "properties") result[key] = mapValues(value[key] as Record<string, unknown>);
    else result[key] = toV2(value[key]);
  }
  return result;
}

function mapValues(properties: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, toV2(schema)]),
  );
}

function v3Index(registry: Registry): unknown {
  const paths: Record<string, unknown> = {};
  for (const key of groupVersionPaths(registry)) {
    // Clients keep a document as long as its hash is the same. Documents of built-in groups never change.
    const isFixed = isBuiltinGroup(groupOf(key));
    const hash = hashOf(isFixed ? key : v3Document(registry, key));
    paths[key] = { serverRelativeURL: `/openapi/v3/${key}?hash=${hash}` };
  }
  return { paths };
}

function groupVersionPaths(registry: Registry): readonly string[] {
  return [...new Set(registry.list().map(pathOf))].sort();
}

function pathOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** The group of a document: `apis/apps/v1` → `apps`. */
function groupOf(key: string): string {
  return key.startsWith("api/") ? "" : (key.split("/")[1] ?? "");
}

/** Types with two JSON forms. v2 can only call them a string. */
const V3_TYPES: Readonly<Record<string, unknown>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": {
    oneOf: [{ type: "string" }, { type: "number" }],
  },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
    format: "int-or-string",
    oneOf: [{ type: "integer" }, { type: "string" }],
  },
};

function v3Document(registry: Registry, key: string): Record<string, unknown> | undefined {
  const isFixed = isBuiltinGroup(groupOf(key));
  const kept = isFixed ? builtinV3 : documentsOf(registry).v3;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const resources = registry.list().filter((definition) => pathOf(definition) === key);
  const [first] = resources;
  if (first === undefined) return undefined;
  const own: Record<string, Schema> = {};
  const paths: Record<string, unknown> = {};
  for (const definition of resources) {
    Object.assign(paths, resourcePaths(definition, "v3"));
    if (!isBuiltinGroup(definition.group)) Object.assign(own, customOpenapiDefinitions(definition));
  }
  const all: Record<string, Schema> = { ...builtinOpenapiDefinitions(), ...own };
  const roots = isBuiltinGroup(first.group) ? rootsOf(all, first) : Object.keys(own);
  const schemas: Record<string, unknown> = {};
  for (const name of [...reachable([...roots, OBJECT_META, LIST_META], all)].sort()) {
    schemas[name] = V3_TYPES[name] ?? withComponentRefs(all[name]);
  }
  const document = {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths,
    components: { schemas },
  };
  kept.set(key, document);
  return document;
}

/** Definitions of one built-in group version. */
function rootsOf(
  all: Readonly<Record<string, Schema>>,
  wanted: { readonly group: string; readonly version: string },
): readonly string[] {
  return Object.keys(all).filter((name) =>
    all[name]?.["x-kubernetes-group-version-kind"]?.some(
      ({ group, version }) => group === wanted.group && version === wanted.version,
    ),
  );
}

function withComponentRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withComponentRefs);
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const child = value[key];
    result[key] =
      key === "$ref" && typeof child === "string"
        ? `${COMPONENTS_PREFIX}${child.slice(REF_PREFIX.length)}`
        : withComponentRefs(child);
  }
  return result;
}

/** A hash of the document: FNV-1a twice, as 16 hex digits. It only has to differ if the document differs. */
function hashOf(document: unknown): string {
  const source = canonicalJson(document);
  let low = 2_166_136_261;
  let high = 84_696_351;
  for (let index = 0; index < source.length; index++) {
    const code = source.charCodeAt(index);
    low = Math.imul(low ^ code, 16_777_619) >>> 0;
    high = Math.imul(high ^ code, 2_246_822_519) >>> 0;
  }
  return `${low.toString(16).padStart(8, "0")}${high.toString(16).padStart(8, "0")}`.toUpperCase();
}
