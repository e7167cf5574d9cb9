/**
 * Counts capacity that several pools share, in a simulation: units of capacity reservations and quotas of the cloud
 * account. A launched node uses units of them, and frees them when it is removed.
 */
import { CAPACITY_TYPE_LABEL_KEY, INSTANCE_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import { reservationIdOf, reservationOf } from "../cloudprovider/offerings.ts";
import { cheapestOfferingOf } from "../provisioning/nodes/unlaunched.ts";
import { QuotaRoom } from "../provisioning/nodes/within-quotas.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { PoolInput, SchedulingInput } from "../provisioning/scheduling-input.ts";
import type { NodeView } from "../state/node-view.ts";

type Shared = Pick<SchedulingInput, "pools" | "quotaRoom">;

/** What is left after these claims were launched with their cheapest instance type, and these nodes were removed. */
export function withSharedCapacity(
  { pools, quotaRoom }: Shared,
  launched: readonly PlannedClaim[],
  gone: readonly NodeView[] = [],
): Shared {
  const room = quotaRoom && quotaRoomAfter(quotaRoom, pools, { launched, gone });
  return {
    pools: withReservationUnits(pools, launched, gone),
    ...(room === undefined ? {} : { quotaRoom: room }),
  };
}

function quotaRoomAfter(
  quotaRoom: ReadonlyMap<string, number>,
  pools: readonly PoolInput[],
  changed: { readonly launched: readonly PlannedClaim[]; readonly gone: readonly NodeView[] },
): ReadonlyMap<string, number> {
  const freed = new Map(quotaRoom);
  for (const node of changed.gone) {
    const quota = quotaOf(node, pools);
    if (quota !== undefined && freed.has(quota.id))
      freed.set(quota.id, (freed.get(quota.id) ?? 0) + quota.units);
  }
  const room = new QuotaRoom(freed);
  for (const plan of changed.launched) room.take([plan]);
  return room.left;
}

function quotaOf({ poolId, labels }: NodeView, pools: readonly PoolInput[]) {
  const own = pools.find(({ pool }) => pool.id === poolId);
  const type = own?.instanceTypes.find(({ name }) => name === labels[INSTANCE_TYPE_LABEL_KEY]);
  const capacityType = labels[CAPACITY_TYPE_LABEL_KEY];
  return type?.offerings.find((one) => one.capacityType === capacityType)?.quota;
}

function withReservationUnits(
  pools: readonly PoolInput[],
  launched: readonly PlannedClaim[],
  gone: readonly NodeView[],
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
