/**
 * The devices (Dynamic Resource Allocation) that one node can use, in the order in which they are tried. Also the
 * device pools that cannot offer devices there.
 */
import { within } from "../../base/within.ts";
import { type DevicePool, type PooledDevice, repeatedName } from "./inventory.ts";

export interface DeviceList {
  readonly devices: readonly PooledDevice[];
  /** The pools of the devices, and further pools whose slices the node can use. */
  readonly pools: ReadonlySet<DevicePool>;
  /** Pools of these devices that must not be used, each with the reason. */
  readonly closed: ReadonlyMap<DevicePool, string>;
}

/**
 * Makes the list. `devices`: in the order in which they are tried. `others`: pools that the node can use, but that may
 * have no device for it.
 */
export function deviceList(
  devices: readonly PooledDevice[],
  others: readonly DevicePool[] = [],
): DeviceList {
  const byPool = new Map<DevicePool, PooledDevice[]>();
  for (const device of devices)
    within(byPool, device.pool, () => [] as PooledDevice[]).push(device);
  const closed = new Map<DevicePool, string>();
  for (const [pool, own] of byPool) {
    const repeated = pool.problem === undefined ? repeatedName(own) : undefined;
    if (pool.problem !== undefined) closed.set(pool, pool.problem);
    else if (repeated !== undefined) closed.set(pool, `has device ${repeated} twice`);
  }
  return { devices, closed, pools: new Set([...byPool.keys(), ...others]) };
}
