/**
 * All resources that are served now: built-in ones and those of CustomResourceDefinitions. The engine passes
 * the CRDs after each change. If the spec of a CRD did not change, its definitions are reused, and so are
 * their compiled schemas and rules.
 */
import type { KubeObject } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import type { Registry, ResourceDefinition } from "../resource-definition.ts";
import { builtinDefinitions } from "./builtin.ts";
import { type CustomResourceDefinition, customDefinitions } from "./custom.ts";
import { compareVersions } from "./version-order.ts";

/** The registry of the kinds that are served now. CRDs add and remove kinds. */
export interface MutableRegistry extends Registry {
  /** The version that /version reports, as `1.34` or `v1.34.4`. */
  readonly kubernetesVersion: string;
  /** Increases with each change of the served kinds. */
  readonly generation: number;
  /** Sets the CRDs that exist now. A CRD whose names were not accepted is not served. */
  setCrds(crds: readonly KubeObject[]): void;
}

interface Known {
  readonly spec: unknown;
  readonly definitions: readonly ResourceDefinition[];
}

/**
 * Creates a registry with the built-in kinds and `aggregated`: kinds that an aggregated API server serves in
 * a real cluster.
 */
export function createRegistry(options: {
  readonly kubernetesVersion: string;
  readonly aggregated?: readonly ResourceDefinition[];
}): MutableRegistry {
  let known = new Map<string, Known>();
  let byPlural = new Map<string, ResourceDefinition>();
  let byKind = new Map<string, ResourceDefinition>();
  let all: readonly ResourceDefinition[] = [];
  let generation = 0;

  function rebuild(): void {
    const custom = [...known.values()].flatMap(({ definitions }) => definitions);
    all = [...builtinDefinitions(), ...(options.aggregated ?? []), ...custom].sort(
      compareDefinitions,
    );
    byPlural = new Map(all.map((d) => [`${d.group}/${d.version}/${d.plural}`, d]));
    byKind = new Map(all.map((d) => [`${d.group}/${d.version}/${d.kind}`, d]));
    generation++;
  }

  rebuild();
  return {
    kubernetesVersion: options.kubernetesVersion,
    get generation() {
      return generation;
    },
    find: (group, version, plural) => byPlural.get(`${group}/${version}/${plural}`),
    findKind: (group, version, kind) => byKind.get(`${group}/${version}/${kind}`),
    list: () => all,
    setCrds(crds) {
      const next = new Map<string, Known>();
      for (const object of crds) {
        const crd = object as CustomResourceDefinition;
        if (!isServed(crd)) continue;
        const before = known.get(crd.metadata.name);
        const isSame = before !== undefined && deepEqual(before.spec, crd.spec);
        next.set(
          crd.metadata.name,
          isSame ? before : { spec: crd.spec, definitions: customDefinitions(crd) },
        );
      }
      const changed =
        next.size !== known.size || [...next].some(([name, entry]) => known.get(name) !== entry);
      known = next;
      if (changed) rebuild();
    },
  };
}

function isServed(crd: CustomResourceDefinition): boolean {
  const names = crd.status?.conditions?.find(({ type }) => type === "NamesAccepted");
  return names?.status !== "False";
}

function compareDefinitions(a: ResourceDefinition, b: ResourceDefinition): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1;
  return compareVersions(a.version, b.version) || (a.plural < b.plural ? -1 : 1);
}
