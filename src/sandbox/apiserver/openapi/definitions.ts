/**
 * The definitions in the OpenAPI documents. Built-in ones come from data/kubernetes. Each served version of a
 * custom kind gets one, named as in Kubernetes (`sh.karpenter.v1.NodePool`).
 */
import { clone } from "../../../base/json.ts";
import { builtinGroups, rawDefinitions } from "../registry/builtin-data.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Schema } from "../schema/schema.ts";

export const OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
export const LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
export const REF_PREFIX = "#/definitions/";

let builtin: Readonly<Record<string, Schema>> | undefined;

/** The built-in definitions, with `#/definitions/` references. They are shared, so do not change them. */
export function builtinOpenapiDefinitions(): Readonly<Record<string, Schema>> {
  builtin ??= rawDefinitions();
  return builtin;
}

/** True for a group whose kinds come from data, not from a CRD. */
export function isBuiltinGroup(group: string): boolean {
  return builtinGroups().some((candidate) => candidate.group === group);
}

/** Definition name → schema for the kind and its list. */
export function customOpenapiDefinitions(definition: ResourceDefinition): Record<string, Schema> {
  const { group, version, kind, listKind } = definition;
  const prefix = `${group.split(".").reverse().join(".")}.${version}`;
  const item = `${prefix}.${kind}`;
  // The schema of `metadata` becomes a reference to ObjectMeta, as in the documents of Kubernetes.
  const { properties, ...rest } = definition.schema;
  const { metadata: _metadata, ...fields } = properties ?? {};
  const schema: Schema = {
    ...clone(rest),
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { $ref: `${REF_PREFIX}${OBJECT_META}` },
      ...clone(fields),
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind }],
  };
  const list: Schema = {
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { type: "string" },
      items: { type: "array", items: { $ref: `${REF_PREFIX}${item}` } },
      kind: { type: "string" },
      metadata: { $ref: `${REF_PREFIX}${LIST_META}` },
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind: listKind }],
  };
  return { [item]: schema, [`${item}List`]: list };
}

/** Names of all definitions that the roots refer to, directly or through other definitions. */
export function reachable(
  roots: readonly string[],
  definitions: Readonly<Record<string, Schema>>,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const todo = [...roots];
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (seen.has(name) || definitions[name] === undefined) continue;
    seen.add(name);
    collectRefs(definitions[name], todo);
  }
  return seen;
}

function collectRefs(value: unknown, into: string[]): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === "$ref" && typeof child === "string") into.push(child.slice(REF_PREFIX.length));
    else collectRefs(child, into);
  }
}
