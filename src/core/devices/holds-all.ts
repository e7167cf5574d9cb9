/**
 * Whether the devices of one node are enough for several pods, whichever devices kube-scheduler chooses. kube-scheduler
 * does not know the plan. For `firstAvailable`, it takes the first alternative that is free, even if the plan uses a
 * later one.
 */
import type { Alternative } from "./claim-specs.ts";
import type { PooledDevice } from "./inventory.ts";
import type { Matcher } from "./match.ts";
import type { DeviceNeeds } from "./needs.ts";

/** Pods with equal claims. */
export interface AlikePods {
  readonly needs: DeviceNeeds;
  readonly count: number;
}

/**
 * Whether enough devices are left for all pods after any choice of devices. `devices`: all devices of the empty node. A
 * share of a device counts as the whole device, so the result may be false although the devices are enough. It is also
 * false if several pods may use devices with counters.
 */
export function holdsAll(
  pods: readonly AlikePods[],
  devices: readonly PooledDevice[],
  matcher: Matcher,
): boolean {
  const isConstrained = pods.some(({ needs }) =>
    needs.claims.some(({ spec }) => spec.constraints.length > 0),
  );
  const total = pods.reduce((sum, { count }) => sum + count, 0);
  if (total > 1 && isConstrained) return false;
  const requests = pods.flatMap(({ needs, count }) =>
    needs.claims.flatMap(({ spec }) =>
      spec.requests.map((alternatives) => ({
        count,
        ways: alternatives
          .filter(({ adminAccess }) => !adminAccess)
          .map((way) => ({ way, among: matching(way, devices, matcher) })),
      })),
    ),
  );
  if (total > 1 && requests.some(({ ways }) => ways.some(({ among }) => arePartsOfOne(among))))
    return false;
  return requests.every(({ ways }) =>
    ways.every(({ among }) => {
      if (among.size === 0) return true;
      const most = requests.reduce((sum, other) => {
        const taken = other.ways
          .filter((one) => overlap(one.among, among))
          .map((one) => (one.way.wantsAll ? one.among.size : one.way.count));
        return sum + other.count * Math.max(0, ...taken);
      }, 0);
      return most <= among.size;
    }),
  );
}

/** Whether one of the devices uses counters. Then giving one device away may leave too few counters for another. */
function arePartsOfOne(devices: ReadonlySet<PooledDevice>): boolean {
  for (const { device } of devices) if ((device.consumesCounters ?? []).length > 0) return true;
  return false;
}

function matching(
  way: Alternative,
  devices: readonly PooledDevice[],
  matcher: Matcher,
): ReadonlySet<PooledDevice> {
  return new Set(devices.filter((one) => matcher.of(way, one).mismatch === undefined));
}

function overlap(some: ReadonlySet<PooledDevice>, others: ReadonlySet<PooledDevice>): boolean {
  for (const one of some) if (others.has(one)) return true;
  return false;
}
