/**
 * Answers `/api`, `/apis` and the paths one and two levels below: which groups, versions and resources exist.
 * Serves both forms: the aggregated documents (v2, v2beta1), which today's clients read in one request, and
 * the plain lists. Custom kinds appear as soon as the registry has them.
 * upstream: kube-aggregator pkg/apiserver, apiserver pkg/endpoints/discovery
 */

import { createHash } from "node:crypto";
import { type BuiltinResource, builtinGroups } from "../registry/builtin-data.ts";
import { compareVersions } from "../registry/version-order.ts";
import type { Registry, ResourceDefinition, Subresource } from "../resource-definition.ts";

/** An answer for the engine to send: JSON values, text or bytes. */
export interface DocumentResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface Served {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Group, version and kind in which objects are stored. Absent: nothing is stored. */
  readonly storedAs: string | undefined;
}

interface Group {
  readonly group: string;
  readonly versions: readonly { readonly version: string; readonly resources: readonly Served[] }[];
}

/** The answer to a GET of `path` (without query); undefined if it is not a discovery path. */
export function discoveryResponse(
  registry: Registry,
  path: string,
  accept: string | undefined,
): DocumentResponse | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  const [root, second, third] = parts;
  if (root === "api") {
    const core = groupsOf(registry).filter(({ group }) => group === "");
    if (parts.length === 1) return aggregated(core, accept) ?? json(apiVersions());
    if (parts.length === 2 && second === "v1") return json(resourceList("v1", core[0], "v1"));
    return undefined;
  }
  if (root !== "apis" || parts.length > 3) return undefined;
  const groups = groupsOf(registry).filter(({ group }) => group !== "");
  if (second === undefined) return aggregated(groups, accept) ?? json(groupList(groups));
  const group = groups.find((candidate) => candidate.group === second);
  if (group === undefined) return undefined;
  if (third === undefined)
    return json({ kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) });
  if (!group.versions.some(({ version }) => version === third)) return undefined;
  return json(resourceList(`${second}/${third}`, group, third));
}

/** Built-in groups in Kubernetes' order, then custom ones by name. */
function groupsOf(registry: Registry): readonly Group[] {
  const builtin: Group[] = builtinGroups().map(({ group, versions }) => ({
    group,
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: resources.map((resource) => fromBuiltin(registry, { group, version, resource })),
    })),
  }));
  const names = new Set(builtin.map(({ group }) => group));
  const custom = new Map<string, Map<string, Served[]>>();
  for (const definition of registry.list()) {
    if (names.has(definition.group)) continue;
    const versions = custom.get(definition.group) ?? new Map<string, Served[]>();
    custom.set(definition.group, versions);
    const resources = versions.get(definition.version) ?? [];
    versions.set(definition.version, resources);
    resources.push(fromDefinition(registry, definition));
  }
  for (const group of [...custom.keys()].sort()) {
    const versions = [...(custom.get(group) ?? [])]
      .sort(([a], [b]) => compareVersions(a, b))
      .map(([version, resources]) => ({ version, resources }));
    builtin.push({ group, versions });
  }
  return builtin;
}

function fromBuiltin(
  registry: Registry,
  { group, version, resource }: { group: string; version: string; resource: BuiltinResource },
): Served {
  const { plural, singular, kind, namespaced, verbs } = resource;
  const definition = registry.find(group, version, plural);
  return {
    plural,
    singular,
    kind,
    namespaced,
    verbs,
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
    subresources: resource.subresources ?? [],
    storedAs: definition === undefined ? undefined : storedAs(registry, definition),
  };
}

function fromDefinition(registry: Registry, definition: ResourceDefinition): Served {
  const { plural, singular, kind, namespaced, verbs, shortNames, categories } = definition;
  const subresources = definition.subresources ?? [];
  const stored = storedAs(registry, definition);
  return {
    plural,
    singular,
    kind,
    namespaced,
    verbs,
    shortNames,
    categories,
    subresources,
    storedAs: stored,
  };
}

/**
 * Group, version and kind in which objects are stored. Undefined: the objects are computed on request, or the stored
 * version is not served.
 */
function storedAs(registry: Registry, definition: ResourceDefinition): string | undefined {
  const { group, plural, kind, storageKey, storageVersion, verbs } = definition;
  if (!verbs.includes("watch") || registry.find(group, storageVersion, plural) === undefined)
    return undefined;
  // Events of both groups are stored in the core group.
  return `${storageKey === plural ? "" : group}/${storageVersion}/${kind}`;
}

/** A document as plain JSON. */
export function json(body: unknown): DocumentResponse {
  return { status: 200, headers: { "content-type": "application/json" }, body };
}

function apiVersions(): unknown {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1" }],
  };
}

function groupList(groups: readonly Group[]): unknown {
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) };
}

function groupEntry({ group, versions }: Group): Record<string, unknown> {
  const list = versions.map(({ version }) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: list, preferredVersion: list[0] };
}

function resourceList(groupVersion: string, group: Group | undefined, version: string): unknown {
  const served = group?.versions.find((candidate) => candidate.version === version);
  const resources = (served?.resources ?? []).flatMap((resource) => {
    const { plural, singular, kind, namespaced, verbs, shortNames, categories } = resource;
    return [
      {
        name: plural,
        singularName: singular,
        namespaced,
        kind,
        verbs,
        ...(shortNames.length === 0 ? {} : { shortNames }),
        ...(categories.length === 0 ? {} : { categories }),
        ...(resource.storedAs === undefined
          ? {}
          : { storageVersionHash: hashOf(resource.storedAs) }),
      },
      ...resource.subresources.map((subresource) => ({
        name: `${plural}/${subresource.name}`,
        singularName: "",
        namespaced,
        ...(isOwnVersion(subresource, group?.group ?? "", version)
          ? {}
          : { group: subresource.group, version: subresource.version }),
        kind: subresource.kind,
        verbs: subresource.verbs,
      })),
    ];
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}

/** upstream: apiserver pkg/endpoints/discovery/storageversionhash.go */
function hashOf(stored: string): string {
  return createHash("sha256").update(stored).digest().subarray(0, 8).toString("base64");
}

function isOwnVersion(subresource: Subresource, group: string, version: string): boolean {
  return subresource.group === group && subresource.version === version;
}

/** The aggregated document if `accept` names one; undefined for plain JSON. */
function aggregated(
  groups: readonly Group[],
  accept: string | undefined,
): DocumentResponse | undefined {
  const version = (accept ?? "")
    .split(",")
    .map(aggregatedVersion)
    .find((found) => found !== undefined);
  if (version === undefined) return undefined;
  return {
    status: 200,
    headers: {
      "content-type": `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    },
    body: {
      kind: "APIGroupDiscoveryList",
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: groups.map(({ group, versions }) => ({
        metadata: group === "" ? {} : { name: group },
        versions: versions.map((served) => ({
          version: served.version,
          freshness: "Current",
          resources: served.resources.map((resource) =>
            aggregatedResource(group, served.version, resource),
          ),
        })),
      })),
    },
  };
}

/** `v2` or `v2beta1` if this media range means the aggregated form. */
function aggregatedVersion(range: string): string | undefined {
  const parameters = range.split(";").map((part) => part.trim());
  const isAggregated =
    parameters[0] === "application/json" &&
    parameters.includes("g=apidiscovery.k8s.io") &&
    parameters.includes("as=APIGroupDiscoveryList");
  if (!isAggregated) return undefined;
  return ["v2", "v2beta1"].find((version) => parameters.includes(`v=${version}`));
}

function aggregatedResource(group: string, version: string, resource: Served): unknown {
  const { shortNames, categories, subresources } = resource;
  return {
    resource: resource.plural,
    responseKind: { group, version, kind: resource.kind },
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0
      ? {}
      : {
          subresources: subresources.map((subresource) => ({
            subresource: subresource.name,
            responseKind: {
              group: subresource.group,
              version: subresource.version,
              kind: subresource.kind,
            },
            verbs: subresource.verbs,
          })),
        }),
  };
}
