/**
 * Says what bounds a lowered request. If no instance type can meet the request, that is the largest amount of a type:
 * lowering the request is the only way, whatever the NodePools allow. If they allow only smaller types, the largest of
 * these is named, too. If a type has room for more than the lowered request, limits of NodePools bound it: these are
 * named. Otherwise the lowered request would seem lower than necessary.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { formatResource } from "../../../apis/resources.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { PoolInput } from "../../provisioning/scheduling-input.ts";
import { bitIndices } from "../../scheduling/bits.ts";
import type { ForNewNode } from "./candidates.ts";
import { type Edit, editedPod, limitText, type PodEdit, requestEdits } from "./edits.ts";
import { requestUnit } from "./least-fix.ts";

interface Pools {
  readonly pools: readonly PoolInput[];
  /** The template of a NodePool after the edits, by its id. */
  readonly templateOf: (poolId: string) => Template;
  /** The possible new nodes for the pod, without edits. */
  readonly states: readonly ForNewNode[];
  /** Whether some instance type takes the pod after the state's edits. Limits of NodePools do not count. */
  readonly fits: (state: ForNewNode) => boolean;
}

/** Sentences about each resource that the edits lower: the largest amount of a type, and limits that bound it. */
export function largestAmounts(pod: Pod, edits: readonly Edit[], pools: Pools): readonly string[] {
  const requests = podRequests(pod);
  const lowered = new Set(edits.flatMap((one) => (one.change === "request" ? one.resource : [])));
  if (lowered.size === 0) return [];
  return [...lowered].flatMap((resource) => [
    ...largestText(resource, requests[resource] ?? 0, pools),
    ...boundingLimits({ pod, edits }, resource, pools),
  ]);
}

/** Names the largest amount of the resource, if no type has as much as the pod requests. */
function largestText(resource: string, requested: number, pools: Pools): readonly string[] {
  const types = new Set(pools.pools.flatMap(({ instanceTypes }) => instanceTypes));
  const largest = largestOf(types, resource);
  if (largest === undefined || largest.amount >= requested) return [];
  if (largest.amount === 0) return [`no instance type has ${resource} (${adding(resource)})`];
  const own = largestOf(usableTypes(pools), resource);
  const isLess = own !== undefined && own.amount < largest.amount;
  const here = isLess ? `, and none that a NodePool can launch has ${mostText(own, resource)}` : "";
  const disk = resource === "ephemeral-storage" ? DISK : "";
  return [`no instance type has more ${resource} than ${textOf(largest, resource)}${here}${disk}`];
}

/**
 * The limits that bound the lowered request. Empty: no type that a NodePool can launch has room for more. Or a NodePool
 * without limits could launch one, so something else bounds the request.
 */
function boundingLimits(
  { pod, edits }: { readonly pod: Pod; readonly edits: readonly Edit[] },
  resource: string,
  { pools, templateOf, states, fits }: Pools,
): readonly string[] {
  const isOfPod = (one: Edit): one is PodEdit => one.on === "pod";
  const to = podRequests(edits.filter(isOfPod).reduce(editedPod, pod))[resource] ?? 0;
  const others = edits.filter((one) => one.change !== "request" || one.resource !== resource);
  const more = requestEdits(pod, resource, to + requestUnit(resource));
  if (to === 0 || more === undefined) return [];
  const open = states.filter((state) => fits({ ...state, edits: [...others, ...more] }));
  const limited = pools
    .filter(({ pool }) => open.some(({ poolId }) => poolId === pool.id))
    .map(({ pool: { id }, usage }) => ({ pool: templateOf(id).pool, usage }));
  if (limited.some(({ pool }) => Object.keys(pool.limits).length === 0)) return [];
  const texts = limited.flatMap(({ pool, usage = {} }) => {
    const names = resource in pool.limits ? [resource] : Object.keys(pool.limits).sort();
    return names.map((name) => {
      const [limit, used] = [pool.limits[name] ?? 0, usage[name] ?? 0].map((amount) =>
        formatResource(name, amount),
      );
      return `${limitText(name, pool)} (${limit}, ${used} in use)`;
    });
  });
  return texts.length === 0 ? [] : [`bounded by ${texts.join(", ")}`];
}

/** Ephemeral storage is no property of the type: its node class says which disk a node gets. */
const DISK =
  ", with the disk that the node class gives its nodes (EC2NodeClass: spec.blockDeviceMappings, spec.instanceStorePolicy)";

/** How nodes get a resource that no instance type has of itself. */
function adding(resource: string): string {
  return resource.startsWith("hugepages-")
    ? "nodes reserve huge pages at start, by the user data of their node class; a NodeOverlay with spec.capacity declares them"
    : "a NodeOverlay with spec.capacity declares what a device plugin adds";
}

/** The types that some NodePool can launch. */
function usableTypes({ pools, templateOf }: Pools): ReadonlySet<InstanceType> {
  const templates = pools.map(({ pool }) => templateOf(pool.id));
  return new Set(
    templates.flatMap(({ table, usable }) =>
      bitIndices(usable).flatMap((at) => table.types[at] ?? []),
    ),
  );
}

interface Largest {
  readonly name: string;
  readonly amount: number;
}

function mostText(largest: Largest, resource: string): string {
  return largest.amount === 0 ? "any" : `more than ${textOf(largest, resource)}`;
}

function textOf({ name, amount }: Largest, resource: string): string {
  return `${name} (${formatResource(resource, amount)})`;
}

/** The type with the largest capacity. Among equal ones, the first by name. Undefined: there is no type. */
function largestOf(types: ReadonlySet<InstanceType>, resource: string): Largest | undefined {
  let largest: Largest | undefined;
  for (const { name, capacity } of types) {
    const amount = capacity[resource] ?? 0;
    const isLarger = largest === undefined || amount > largest.amount;
    if (isLarger || (amount === largest?.amount && name < largest.name)) largest = { name, amount };
  }
  return largest;
}
