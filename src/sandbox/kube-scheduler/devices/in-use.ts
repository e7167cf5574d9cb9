/** The devices that allocated claims hold, and the used amounts of shared devices. */
import type { ResourceClaim } from "../../../apis/resource/kinds.ts";
import { nano } from "./capacity.ts";
import { deviceId } from "./pools.ts";

export interface DevicesInUse {
  /** The devices that belong to one claim alone. */
  readonly whole: ReadonlySet<string>;
  /** For shared devices: the amounts that all claims together use, in nano units by capacity. */
  readonly parts: ReadonlyMap<string, ReadonlyMap<string, bigint>>;
}

/** Counts the devices of all claims, without those that a claim has for administration. */
export function devicesInUse(claims: readonly ResourceClaim[]): DevicesInUse {
  const whole = new Set<string>();
  const parts = new Map<string, Map<string, bigint>>();
  for (const { status } of claims)
    for (const result of status?.allocation?.devices?.results ?? []) {
      if (result.adminAccess === true) continue;
      const id = deviceId(result.driver, result.pool, result.device);
      if (result.shareID === undefined) {
        whole.add(id);
        continue;
      }
      const held = parts.get(id) ?? new Map<string, bigint>();
      parts.set(id, held);
      for (const [name, amount] of Object.entries(result.consumedCapacity ?? {}))
        held.set(name, (held.get(name) ?? 0n) + nano(amount));
    }
  return { whole, parts };
}
