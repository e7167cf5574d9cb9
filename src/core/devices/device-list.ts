/** The devices of one kind of node in the order in which they are tried, with the pools that offer none of theirs. */
import { within } from "../../base/within.ts";
import { type DevicePool, type PooledDevice, repeatedName } from "./inventory.ts";

export interface DeviceList {
  readonly devices: readonly PooledDevice[];
  /** With the reason. */
  readonly closed: ReadonlyMap<DevicePool, string>;
}

/** `devices`: in the order in which they are tried. */
export function deviceList(devices: readonly PooledDevice[]): DeviceList {
  const byPool = new Map<DevicePool, PooledDevice[]>();
  for (const device of devices)
    within(byPool, device.pool, () => [] as PooledDevice[]).push(device);
  const closed = new Map<DevicePool, string>();
  for (const [pool, own] of byPool) {
    const repeated = pool.problem === undefined ? repeatedName(own) : undefined;
    if (pool.problem !== undefined) closed.set(pool, pool.problem);
    else if (repeated !== undefined) closed.set(pool, `has device ${repeated} twice`);
  }
  return { devices, closed };
}
