/**
 * What is left of the quotas of the cloud account, after nodes were removed and claims were launched in a simulation.
 */
import { CAPACITY_TYPE_LABEL_KEY, INSTANCE_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { QuotaRoom } from "../provisioning/nodes/within-quotas.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import type { PoolInput, SchedulingInput } from "../provisioning/scheduling-input.ts";
import type { NodeView } from "../state/node-view.ts";

/** The quotas after these nodes were removed and these claims were launched. */
export function withQuotaUnits(
  { quotaRoom, pools }: Pick<SchedulingInput, "quotaRoom" | "pools">,
  launched: readonly PlannedClaim[],
  gone: readonly NodeView[] = [],
): Pick<SchedulingInput, "quotaRoom"> {
  if (quotaRoom === undefined || quotaRoom.size === 0) return {};
  const freed = new Map(quotaRoom);
  for (const node of gone) {
    const quota = quotaOf(node, pools);
    if (quota !== undefined && freed.has(quota.id))
      freed.set(quota.id, (freed.get(quota.id) ?? 0) + quota.units);
  }
  const room = new QuotaRoom(freed);
  for (const plan of launched) room.take([plan]);
  return { quotaRoom: room.left };
}

function quotaOf({ poolId, labels }: NodeView, pools: readonly PoolInput[]) {
  const own = pools.find(({ pool }) => pool.id === poolId);
  const type = own?.instanceTypes.find(({ name }) => name === labels[INSTANCE_TYPE_LABEL_KEY]);
  const capacityType = labels[CAPACITY_TYPE_LABEL_KEY];
  return type?.offerings.find((one) => one.capacityType === capacityType)?.quota;
}
