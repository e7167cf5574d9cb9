/**
 * When there is not room for all, the important pods come first. Where there is room, priority changes
 * nothing: order by size packs better. Upstream never looks at priority.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { PoolRejection, SchedulingResult, UnschedulablePod } from "../result.ts";
import { priorityOf } from "./queue.ts";

/** A pod was left out for want of room that less important pods have got. */
export function lesserPodsHaveItsRoom(result: SchedulingResult): boolean {
  const crowdedOut = result.unschedulable.filter(wantedRoom).map(({ pod }) => priorityOf(pod));
  if (crowdedOut.length === 0) return false;
  const most = crowdedOut.reduce((a, b) => Math.max(a, b));
  return placed(result).some((pod) => priorityOf(pod) < most);
}

/** At the highest priority where they differ, `result` places more pods than `other`. */
export function placesMoreImportantPods(
  result: SchedulingResult,
  other: SchedulingResult,
): boolean {
  const [own, others] = [countByPriority(result), countByPriority(other)];
  for (const priority of [...new Set([...own.keys(), ...others.keys()])].sort((a, b) => b - a)) {
    const difference = (own.get(priority) ?? 0) - (others.get(priority) ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/**
 * By limits, by reservations that other pods hold (also until a later pass), or because nothing can be launched
 * at all: other pods could have made room.
 */
function wantedRoom({ ignored, pools }: UnschedulablePod): boolean {
  return ignored !== true && (pools.length === 0 || pools.some(isBounded));
}

function isBounded({ rejected, otherwise, promised }: PoolRejection): boolean {
  return rejected.limits !== undefined || otherwise?.includes("limits") || promised === true;
}

function placed({ newClaims, existing }: SchedulingResult): Pod[] {
  return [...newClaims, ...existing].flatMap(({ pods }) => pods);
}

function countByPriority(result: SchedulingResult): Map<number, number> {
  const counts = new Map<number, number>();
  for (const pod of placed(result)) {
    const priority = priorityOf(pod);
    counts.set(priority, (counts.get(priority) ?? 0) + 1);
  }
  return counts;
}
