/**
 * Compares plans by the priority of their pods. If a pod has no place while a pod of lower priority has one, a plan by
 * priority is made. Otherwise placing by size packs better. karpenter-ts only: upstream ignores priority.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { PoolRejection, SchedulingResult, UnschedulablePod } from "../result.ts";
import { priorityOf } from "./queue.ts";

type Places = Pick<SchedulingResult, "newClaims" | "existing">;

/** Whether a pod has no place while pods with lower priority have one. */
export function isPriorityInverted(result: SchedulingResult): boolean {
  const crowdedOut = result.unschedulable.filter(wantedRoom).map(({ pod }) => priorityOf(pod));
  if (crowdedOut.length === 0) return false;
  const most = crowdedOut.reduce((a, b) => Math.max(a, b));
  return placed(result).some((pod) => priorityOf(pod) < most);
}

/** Whether `result` places more pods of the highest priority at which the two plans differ. */
export function placesHigherPriorities(result: Places, other: Places): boolean {
  const [own, others] = [countByPriority(result), countByPriority(other)];
  for (const priority of [...new Set([...own.keys(), ...others.keys()])].sort((a, b) => b - a)) {
    const difference = (own.get(priority) ?? 0) - (others.get(priority) ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/**
 * Whether the pod might have a place if other pods had none: limits or reservations refused it, or there is no pool.
 */
function wantedRoom({ ignored, pools }: UnschedulablePod): boolean {
  return ignored !== true && (pools.length === 0 || pools.some(isBounded));
}

function isBounded({ rejected, otherwise, promised }: PoolRejection): boolean {
  return rejected.limits !== undefined || otherwise?.includes("limits") || promised === true;
}

function placed({ newClaims, existing }: Places): Pod[] {
  return [...newClaims, ...existing].flatMap(({ pods }) => pods);
}

function countByPriority(result: Places): Map<number, number> {
  const counts = new Map<number, number>();
  for (const pod of placed(result)) {
    const priority = priorityOf(pod);
    counts.set(priority, (counts.get(priority) ?? 0) + 1);
  }
  return counts;
}
