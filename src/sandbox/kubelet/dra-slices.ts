/**
 * Which slices the drivers of DRAConfig objects have to publish. What a driver has on one node is one pool,
 * `DRIVER/NODE`, with one generation for all of its slices.
 * upstream: dra-kwok-driver/pkg/controllers. There each slice counts generations of its own, and several pools of one
 * node count slices apart, so that a reader takes them for superseded or incomplete.
 */
import type { Node } from "../../apis/core/node.ts";
import type { Device, ResourceSlice } from "../../apis/resource/kinds.ts";
import { canonicalJson, isObject } from "../../base/json.ts";
import { parseNano } from "../../base/quantity.ts";
import { within } from "../../base/within.ts";
import { matchesAnyTerm } from "../kube-scheduler/filters/node.ts";
import type { DraConfig } from "./dra-config.ts";

/** On the slices of these drivers. */
export const MANAGED_BY = "test.karpenter.sh/managed-by";
export const MANAGER = "dra-kwok-driver";

/** A slice that has to be published, and the config that asks for it. */
export interface WantedSlice {
  readonly config: DraConfig;
  readonly slice: ResourceSlice;
}

/** The slices of one driver on one node, before they have a generation. */
interface Part {
  readonly config: DraConfig;
  readonly pool: string;
  readonly name: string;
  readonly devices: readonly Device[];
}

/**
 * What has to be published, in the order of drivers, nodes and configs. `own`: what is published now, whose generation
 * grows by one where something changes. Of two pools of one driver with the same name the first config's counts.
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

/** The API server writes quantities in its own form and dates taints: neither is a change. */
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
