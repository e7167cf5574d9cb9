/**
 * The devices that one node can use, by pool. Only slices of a pool's newest generation count.
 * upstream: dynamic-resource-allocation/structured/internal/experimental/pools_experimental.go
 */
import type { NodeSelectorTerm } from "../../../apis/core/pod.ts";
import type { Device, ResourceSlice } from "../../../apis/resource/kinds.ts";
import { matchesAnyTerm } from "../filters/node.ts";

/** The facts about the node that selectors read. */
export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface OfferedDevice {
  /** The device's id: `driver/pool/device`. */
  readonly id: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
}

export interface SlicePool {
  /** The pool's id: `driver/pool`. */
  readonly id: string;
  /** Whether slices of the pool are missing: the node has fewer than the pool's `resourceSliceCount`. */
  readonly isIncomplete: boolean;
  /** A name that two devices have. Such a pool is invalid. */
  readonly twice: string | undefined;
  readonly devices: readonly OfferedDevice[];
}

/** The pools for this node, sorted by name. */
export function poolsFor(slices: readonly ResourceSlice[], node: NodeFacts): readonly SlicePool[] {
  const byPool = new Map<string, ResourceSlice[]>();
  for (const slice of [...slices].sort(byName)) {
    if (!reachesSlice(slice, node)) continue;
    const { driver, pool } = slice.spec;
    const id = `${driver}/${pool.name}`;
    const known = byPool.get(id) ?? [];
    const newest = known[0]?.spec.pool.generation ?? pool.generation;
    if (pool.generation < newest) continue;
    byPool.set(id, pool.generation > newest ? [slice] : [...known, slice]);
  }
  return [...byPool].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, own]) => poolOf(id, own, node));
}

/** The id of a device as allocations name it. */
export function deviceId(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`;
}

function byName(a: ResourceSlice, b: ResourceSlice): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

function poolOf(id: string, slices: readonly ResourceSlice[], node: NodeFacts): SlicePool {
  const seen = new Set<string>();
  let twice: string | undefined;
  const devices: OfferedDevice[] = [];
  for (const slice of slices)
    for (const device of slice.spec.devices ?? []) {
      if (seen.has(device.name)) twice ??= device.name;
      seen.add(device.name);
      if (slice.spec.perDeviceNodeSelection === true && !reaches(device, node)) continue;
      const { driver, pool } = slice.spec;
      devices.push({ id: deviceId(driver, pool.name, device.name), device, slice });
    }
  const isIncomplete = slices.length !== slices[0]?.spec.pool.resourceSliceCount;
  return { id, isIncomplete, twice, devices };
}

function reachesSlice({ spec }: ResourceSlice, node: NodeFacts): boolean {
  if (spec.perDeviceNodeSelection === true)
    return (spec.devices ?? []).some((device) => reaches(device, node));
  return reaches(spec, node);
}

/** Whether a device or slice is usable on this node: it names the node, selects it, or is for all nodes. */
function reaches(
  { nodeName = "", allNodes, nodeSelector }: Pick<Device, "nodeName" | "allNodes" | "nodeSelector">,
  { name, labels }: NodeFacts,
): boolean {
  if (nodeName !== "") return nodeName === name;
  if (allNodes === true) return true;
  if (nodeSelector === undefined) return false;
  return matchesAnyTerm(
    nodeSelector.nodeSelectorTerms as readonly NodeSelectorTerm[],
    labels,
    name,
  );
}
