/**
 * Says of a request that no instance type can meet what the largest amount is, and on which type. Lowering such a
 * request is the only way, whatever the NodePools allow. If they allow only smaller types, it names the largest of
 * these, too. Otherwise the lowered request would seem lower than necessary.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { formatResource } from "../../../apis/resources.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { PoolInput } from "../../provisioning/scheduling-input.ts";
import { bitIndices } from "../../scheduling/bits.ts";
import type { Edit } from "./edits.ts";

interface Pools {
  readonly pools: readonly PoolInput[];
  readonly templateOf: (poolId: string) => Template;
}

/**
 * One sentence for each resource that the edits lower and of which no type has as much as the pod requests.
 * `templateOf`: the template of a NodePool after the edits, by its id.
 */
export function largestAmounts(pod: Pod, edits: readonly Edit[], pools: Pools): readonly string[] {
  const requests = podRequests(pod);
  const lowered = new Set(edits.flatMap((one) => (one.change === "request" ? one.resource : [])));
  if (lowered.size === 0) return [];
  const types = new Set(pools.pools.flatMap(({ instanceTypes }) => instanceTypes));
  return [...lowered].flatMap((resource) => {
    const largest = largestOf(types, resource);
    if (largest === undefined || largest.amount >= (requests[resource] ?? 0)) return [];
    if (largest.amount === 0) return [`no instance type has ${resource} (${adding(resource)})`];
    const own = largestOf(usableTypes(pools), resource);
    const isLess = own !== undefined && own.amount < largest.amount;
    const here = isLess
      ? `, and none that a NodePool can launch has ${mostText(own, resource)}`
      : "";
    const disk = resource === "ephemeral-storage" ? DISK : "";
    return [
      `no instance type has more ${resource} than ${textOf(largest, resource)}${here}${disk}`,
    ];
  });
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
