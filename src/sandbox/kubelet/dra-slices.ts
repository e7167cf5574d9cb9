/**
 * Which ResourceSlices the drivers of DRAConfig objects must publish. The devices of one driver on one node
 * are one pool, `DRIVER/NODE`, and all its slices have the same generation.
 * upstream: dra-kwok-driver/pkg/controllers. Upstream's driver gives each slice a generation of its own, and counts
 * slices separately for each pool of a DRAConfig. So a reader may take upstream's slices for outdated or
 * incomplete.
 */
import type { Node } from "../../apis/core/node.ts";
import type { Device, ResourceSlice } from "../../apis/resource/kinds.ts";
import { canonicalJson, isObject } from "../../base/json.ts";
import { parseNano } from "../../base/quantity.ts";
import { within } from "../../base/within.ts";
import { matchesAnyTerm } from "../kube-scheduler/filters/node.ts";
import type { DraConfig } from "./dra-config.ts";

/** Label on the slices of these drivers. */
export const MANAGED_BY = "test.karpenter.sh/managed-by";
export const MANAGER = "dra-kwok-driver";

/** A slice to publish, and the config that asks for it. */
export interface WantedSlice {
  readonly config: DraConfig;
  readonly slice: ResourceSlice;
}

/** One slice, before it has a generation. */
interface Part {
  readonly config: DraConfig;
  readonly pool: string;
  readonly name: string;
  readonly devices: readonly Device[];
}

/**
 * The slices to publish, in the order of drivers, nodes and configs. `own` are the present slices. If
 * anything changes in a pool, its generation grows by one. If two pools of one driver have the same name, the
 * first config's applies.
 */
export function slicesWanted(
  configs: readonly DraConfig[],
  nodes: readonly Node[],
  own: readonly ResourceSlice[],
): readonly WantedSlice[] {
  const byDriver = new Map<string, DraConfig[]>();
  for (const config of [...configs].sort(byName))
    within(byDriver, config.spec.driver, () => [] as DraConfig[]).push(config);
  const sorted = [...nodes].sort(byName);
  return [...byDriver]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([driver, ofDriver]) =>
      sorted.flatMap((node) => {
        const name = `${driver}/${node.metadata.name}`;
        const before = own.filter(({ spec }) => spec.driver === driver && spec.pool.name === name);
        return withGeneration(partsOf(driver, ofDriver, node), { driver, node, before });
      }),
    );
}

function partsOf(driver: string, configs: readonly DraConfig[], node: Node): readonly Part[] {
  const { name: nodeName, labels = {} } = node.metadata;
  const parts = new Map<string, Part>();
  for (const config of configs)
    for (const { name: pool, nodeSelectorTerms, resourceSlices } of config.spec.pools) {
      if (!matchesAnyTerm(nodeSelectorTerms, labels, nodeName)) continue;
      for (const [at, { devices }] of resourceSlices.entries()) {
        const tail = resourceSlices.length > 1 ? `-${at}` : "";
        const name = `${driver.replaceAll(".", "-")}-${nodeName}-${pool}${tail}`;
        within(parts, name, () => ({ config, pool, name, devices }));
      }
    }
  return [...parts.values()];
}

interface PoolOnNode {
  readonly driver: string;
  readonly node: Node;
  readonly before: readonly ResourceSlice[];
}

function withGeneration(
  parts: readonly Part[],
  { driver, node, before }: PoolOnNode,
): readonly WantedSlice[] {
  const newest = Math.max(-1, ...before.map(({ spec }) => spec.pool.generation));
  const slicesAt = (generation: number) =>
    parts.map((part) => ({
      config: part.config,
      slice: sliceOf(part, { driver, node, generation, resourceSliceCount: parts.length }),
    }));
  const same = slicesAt(Math.max(0, newest));
  const isSame =
    before.length === same.length &&
    same.every(({ slice }) =>
      before.some(
        (known) => known.metadata.name === slice.metadata.name && isSameSpec(known, slice),
      ),
    );
  return isSame ? same : slicesAt(newest + 1);
}

interface SliceFacts {
  readonly driver: string;
  readonly node: Node;
  readonly generation: number;
  readonly resourceSliceCount: number;
}

function sliceOf(
  { name, pool, devices }: Part,
  { driver, node, generation, resourceSliceCount }: SliceFacts,
): ResourceSlice {
  const { name: nodeName, uid = "" } = node.metadata;
  const prefix = "test.karpenter.sh";
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: {
      name,
      labels: {
        [MANAGED_BY]: MANAGER,
        [`${prefix}/node`]: nodeName,
        [`${prefix}/pool`]: pool,
        [`${prefix}/driver`]: driver,
      },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid }],
    },
    spec: {
      driver,
      nodeName,
      pool: { name: `${driver}/${nodeName}`, generation, resourceSliceCount },
      devices,
    },
  };
}

/**
 * Whether two slices mean the same. The API server rewrites quantities and adds times to taints; that is no
 * difference.
 */
export function isSameSpec({ spec: a }: ResourceSlice, { spec: b }: ResourceSlice): boolean {
  const plain = ({ devices = [], ...rest }: ResourceSlice["spec"]) => ({
    ...rest,
    devices: devices.map(({ attributes, taints = [], ...amounts }) => ({
      attributes,
      taints: taints.map(({ timeAdded: _, ...taint }) => taint),
      amounts: withPlainQuantities(amounts),
    })),
  });
  return canonicalJson(plain(a)) === canonicalJson(plain(b));
}

function withPlainQuantities(value: unknown): unknown {
  if (typeof value === "string") return String(parseNano(value) ?? value);
  if (Array.isArray(value)) return value.map(withPlainQuantities);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withPlainQuantities(one)]),
  );
}

function byName(a: DraConfig | Node, b: DraConfig | Node): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
