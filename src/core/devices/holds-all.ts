/**
 * Whether the devices of one node suffice for several pods whichever of them kube-scheduler takes. It knows no plan: of
 * `firstAvailable` it takes the first alternative that the node can serve, also where the plan counts on a later one.
 */
import type { Alternative } from "./claim-specs.ts";
import type { PooledDevice } from "./inventory.ts";
import type { Matcher } from "./match.ts";
import type { DeviceNeeds } from "./needs.ts";

/** Pods whose claims are alike. */
export interface AlikePods {
  readonly needs: DeviceNeeds;
  readonly count: number;
}

/**
 * True only if no choice of devices leaves one of the pods without its own. `devices`: those of the empty node. Shares
 * of a device count as the whole of it, so the answer is false more often than need be. It is false, too, where several
 * pods may take devices that consume counters.
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

/** Whether a device takes counters that others need: where one is taken, a second may not be had. */
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
