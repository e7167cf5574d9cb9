/**
 * A pool's limits against what it already has. Names a pool does not limit are free; `nodes` counts
 * nodes. upstream: pkg/apis/v1/nodepool.go (Limits.ExceededBy)
 */
import { formatResource, type Resources } from "../../apis/resources.ts";

/** What is left of each limited resource; may be negative. Unlimited names are absent. */
export function remainingLimits(limits: Resources, usage: Resources): Resources {
  const remaining: Record<string, number> = {};
  for (const name in limits) remaining[name] = (limits[name] as number) - (usage[name] ?? 0);
  return remaining;
}

/** Why a pool may not get another node: its use is above a limit already. `undefined` = it may. */
export function limitExceeded(limits: Resources, usage: Resources): string | undefined {
  for (const name of Object.keys(limits).sort()) {
    const [limit, used] = [limits[name] as number, usage[name] ?? 0];
    if (used <= limit) continue;
    const [have, most] = [formatResource(name, used), formatResource(name, limit)];
    return `${name} resource usage of ${have} exceeds limit of ${most}`;
  }
  return undefined;
}
