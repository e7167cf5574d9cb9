/**
 * The `paths` of the OpenAPI documents, limited to what clients read: the URLs of each resource with group,
 * version and kind, and the query parameters of writes. The parameters `dryRun` and `fieldValidation` tell
 * kubectl that the server validates.
 */
import type { ResourceDefinition } from "../resource-definition.ts";

/** Query parameters of writes. */
const WRITE_PARAMETERS = ["dryRun", "fieldManager", "fieldValidation"];

const METHOD_ACTIONS: readonly (readonly [string, string, string])[] = [
  ["create", "post", "post"],
  ["list", "get", "list"],
  ["deletecollection", "delete", "deletecollection"],
];
const ITEM_ACTIONS: readonly (readonly [string, string, string])[] = [
  ["get", "get", "get"],
  ["update", "put", "put"],
  ["patch", "patch", "patch"],
  ["delete", "delete", "delete"],
];

/** The version of OpenAPI in which parameters are written. */
export type Dialect = "v2" | "v3";

/** Path → path item, for one resource. */
export function resourcePaths(
  definition: ResourceDefinition,
  dialect: Dialect,
): Record<string, unknown> {
  const { group, version, plural, namespaced } = definition;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const paths: Record<string, unknown> = {
    [collection]: pathItem(definition, METHOD_ACTIONS, dialect),
    [`${collection}/{name}`]: pathItem(definition, ITEM_ACTIONS, dialect),
  };
  if (namespaced) {
    paths[`${root}/${plural}`] = pathItem(definition, [["list", "get", "list"]], dialect);
  }
  return paths;
}

function pathItem(
  definition: ResourceDefinition,
  actions: readonly (readonly [string, string, string])[],
  dialect: Dialect,
): Record<string, unknown> {
  const { group, version, kind } = definition;
  const item: Record<string, unknown> = {};
  for (const [verb, method, action] of actions) {
    if (!definition.verbs.includes(verb)) continue;
    const isWrite = method === "post" || method === "put" || method === "patch";
    item[method] = {
      operationId: `${action}-${group}-${version}-${kind}`,
      responses: { "200": { description: "OK" } },
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": { group, kind, version },
      ...(isWrite ? { parameters: WRITE_PARAMETERS.map((name) => parameter(name, dialect)) } : {}),
    };
  }
  return item;
}

function parameter(name: string, dialect: Dialect): Record<string, unknown> {
  return dialect === "v2"
    ? { in: "query", name, type: "string", uniqueItems: true }
    : { in: "query", name, schema: { type: "string", uniqueItems: true } };
}
