/**
 * Kubernetes' facts from data/kubernetes, read once per process: linked schemas for validation, raw definitions
 * for OpenAPI, resources for discovery, and the roles and bindings of a new cluster.
 */
import { readFileSync } from "node:fs";
import type { KubeObject } from "../../../apis/meta.ts";
import { assert } from "../../../base/assert.ts";
import { linkDefinitions } from "../schema/link.ts";
import type { Schema } from "../schema/schema.ts";

/** One resource of one built-in group version. Columns are `[name, type, format, priority]`. */
export interface BuiltinResource {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly {
    readonly name: string;
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    readonly verbs: readonly string[];
  }[];
  readonly columns?: readonly (readonly [string, string, string, number])[];
}

/** Kinds of one group, recorded from a real kube-apiserver. */
export interface BuiltinGroup {
  readonly group: string;
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly BuiltinResource[];
  }[];
}

let linked: ReadonlyMap<string, Schema> | undefined;
let groups: readonly BuiltinGroup[] | undefined;
let access: readonly KubeObject[] | undefined;

/** Groups in the order in which Kubernetes lists them. */
export function builtinGroups(): readonly BuiltinGroup[] {
  groups ??= readJson("resources.json") as readonly BuiltinGroup[];
  return groups;
}

/** Definitions as in the OpenAPI document, with references. Each call returns a new copy. */
export function rawDefinitions(): Record<string, Schema> {
  return readJson("definitions.json") as Record<string, Schema>;
}

/**
 * The roles and bindings of a new cluster, without uid and times. Parsed once and shared, so do not change
 * them.
 */
export function builtinAccess(): readonly KubeObject[] {
  access ??= readJson("access.json") as readonly KubeObject[];
  return access;
}

/** A linked schema by definition name. */
function builtinSchema(name: string): Schema {
  linked ??= linkDefinitions(rawDefinitions());
  const schema = linked.get(name);
  assert(schema !== undefined, `no definition ${name} in data/kubernetes`);
  return schema;
}

/** The linked schema of a kind; undefined when the data has none. */
export function builtinKindSchema(
  group: string,
  version: string,
  kind: string,
): Schema | undefined {
  byKind ??= indexByKind();
  return byKind.get(`${group}/${version}/${kind}`);
}

/** The schema of every object's `metadata`. */
export function objectMetaSchema(): Schema {
  return builtinSchema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
}

let byKind: ReadonlyMap<string, Schema> | undefined;

function indexByKind(): ReadonlyMap<string, Schema> {
  linked ??= linkDefinitions(rawDefinitions());
  const index = new Map<string, Schema>();
  for (const schema of linked.values()) {
    for (const { group, version, kind } of schema["x-kubernetes-group-version-kind"] ?? []) {
      index.set(`${group}/${version}/${kind}`, schema);
    }
  }
  return index;
}

function readJson(name: string): unknown {
  const url = new URL(`../../../../data/kubernetes/${name}`, import.meta.url);
  return JSON.parse(readFileSync(url, "utf8"));
}
