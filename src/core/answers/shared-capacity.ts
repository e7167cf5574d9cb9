/**
 * Units of capacity reservations in a simulation: a node that is launched into a reservation uses one unit, and frees
 * it when the node is removed.
 */

import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import { reservationIdOf, reservationOf } from "../cloudprovider/offerings.ts";
import { cheapestOfferingOf } from "../provisioning/nodes/unlaunched.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import type { NodeView } from "../state/node-view.ts";

/** The same pools, after these claims were launched with their cheapest instance type and these nodes were removed. */
export function withReservationUnits(
  pools: readonly PoolInput[],
  launched: readonly PlannedClaim[],
  gone: readonly NodeView[] = [],
): readonly PoolInput[] {
  const changes = new Map<string, number>();
  const count = (id: string | undefined, units: number) => {
    if (id !== undefined) changes.set(id, (changes.get(id) ?? 0) + units);
  };
  for (const plan of launched) {
    const offering = cheapestOfferingOf(plan);
    count(offering === undefined ? undefined : reservationOf(offering)?.id, -1);
  }
  for (const { labels } of gone) count(reservationIdOf(labels), 1);
  if (changes.size === 0) return pools;
  // Pools of one node class share their list of types. The new lists must be shared, too, because caches are keyed by
  // list.
  const lists = new Map<readonly InstanceType[], readonly InstanceType[]>();
  return pools.map((one) => {
    const known = lists.get(one.instanceTypes);
    const instanceTypes = known ?? one.instanceTypes.map((type) => withUnits(type, changes));
    lists.set(one.instanceTypes, instanceTypes);
    return { ...one, instanceTypes };
  });
}

function withUnits(type: InstanceType, changes: ReadonlyMap<string, number>): InstanceType {
  const changeOf = (offering: Offering) => changes.get(reservationOf(offering)?.id ?? "") ?? 0;
  if (type.offerings.every((one) => changeOf(one) === 0)) return type;
  const offerings = type.offerings.map((one) => {
    const change = changeOf(one);
    if (change === 0) return one;
    return { ...one, reservationCapacity: Math.max(0, (one.reservationCapacity ?? 0) + change) };
  });
  return { ...type, offerings };
}
