/**
 * Compares a pool's limits with the resources of its nodes. A resource without a limit is unlimited. The resource
 * `nodes` is the number of nodes.
 * upstream: pkg/apis/v1/nodepool.go (Limits.ExceededBy)
 */
import { formatResource, type Resources } from "../../apis/resources.ts";

/** The amount that is left of each limited resource. It may be negative. */
export function remainingLimits(limits: Resources, usage: Resources): Resources {
  const remaining: Record<string, number> = {};
  for (const name in limits) remaining[name] = (limits[name] as number) - (usage[name] ?? 0);
  return remaining;
}

/** Why the pool may not get another node: its nodes exceed a limit. Undefined: it may get one. */
export function limitExceeded(limits: Resources, usage: Resources): string | undefined {
  for (const name of Object.keys(limits).sort()) {
    const [limit, used] = [limits[name] as number, usage[name] ?? 0];
    if (used <= limit) continue;
    const [have, most] = [formatResource(name, used), formatResource(name, limit)];
    return `${name} resource usage of ${have} exceeds limit of ${most}`;
  }
  return undefined;
}
