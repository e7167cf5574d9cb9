/** The devices that claims in the cluster use, except claims whose pods all leave their nodes. */
import type { ResourceClaim } from "../../apis/resource/kinds.ts";
import { parseNano } from "../../base/quantity.ts";
import { addAmounts, type DeviceAmounts } from "./capacity.ts";
import type { ClusterDevices, PooledDevice } from "./inventory.ts";

export interface Seed {
  /** Devices that claims use, as a whole or in part. */
  readonly held: ReadonlySet<PooledDevice>;
  /** The used amounts of shared devices. */
  readonly consumed: ReadonlyMap<PooledDevice, DeviceAmounts>;
}

/** The devices in use. `leaving`: UIDs of the pods that leave their nodes. */
export function seedOf(
  claims: readonly ResourceClaim[],
  cluster: ClusterDevices,
  leaving: ReadonlySet<string>,
): Seed {
  const held = new Set<PooledDevice>();
  const consumed = new Map<PooledDevice, DeviceAmounts>();
  for (const claim of claims) {
    if (isReleased(claim, leaving)) continue;
    for (const result of claim.status?.allocation?.devices?.results ?? []) {
      // A request with admin access only monitors the device.
      if (result.adminAccess === true) continue;
      for (const device of cluster.named(result.driver, result.pool, result.device)) {
        held.add(device);
        if (result.consumedCapacity === undefined) continue;
        const amounts = Object.entries(result.consumedCapacity).map(
          ([name, value]) => [name, parseNano(value) ?? 0n] as const,
        );
        consumed.set(device, addAmounts(consumed.get(device) ?? new Map(), new Map(amounts)));
      }
    }
  }
  return { held, consumed };
}

/** Whether only leaving pods have reserved the claim. Then new devices are allocated for it on their next node. */
export function isReleased(
  { status: { reservedFor = [] } = {} }: ResourceClaim,
  leaving: ReadonlySet<string>,
): boolean {
  return (
    reservedFor.length > 0 &&
    reservedFor.every(
      ({ resource, apiGroup = "", uid }) =>
        resource === "pods" && apiGroup === "" && leaving.has(uid),
    )
  );
}
