/**
 * Says of a request that no instance type can meet what the largest amount is, and on which type. Lowering such a
 * request is the only way, whatever the NodePools allow.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { formatResource } from "../../../apis/resources.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { PoolInput } from "../../provisioning/scheduling-input.ts";
import type { Edit } from "./edits.ts";

/** One sentence for each resource that the edits lower and of which no type has as much as the pod requests. */
export function largestAmounts(
  pod: Pod,
  edits: readonly Edit[],
  pools: readonly PoolInput[],
): readonly string[] {
  const requests = podRequests(pod);
  const lowered = new Set(edits.flatMap((one) => (one.change === "request" ? one.resource : [])));
  const types = new Set(pools.flatMap(({ instanceTypes }) => instanceTypes));
  return [...lowered].flatMap((resource) => {
    const largest = largestOf(types, resource);
    if (largest === undefined || largest.amount >= (requests[resource] ?? 0)) return [];
    if (largest.amount === 0)
      return [
        `no instance type has ${resource} (a NodeOverlay with spec.capacity declares what a device plugin adds)`,
      ];
    const amount = formatResource(resource, largest.amount);
    return [`no instance type has more ${resource} than ${largest.name} (${amount})`];
  });
}

/** The type with the largest capacity. Among equal ones, the first by name. Undefined: there is no type. */
function largestOf(types: ReadonlySet<InstanceType>, resource: string) {
  let largest: { readonly name: string; readonly amount: number } | undefined;
  for (const { name, capacity } of types) {
    const amount = capacity[resource] ?? 0;
    const isLarger = largest === undefined || amount > largest.amount;
    if (isLarger || (amount === largest?.amount && name < largest.name)) largest = { name, amount };
  }
  return largest;
}
