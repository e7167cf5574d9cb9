/**
 * Pods that must share a host are placed ahead of all others. By size they come late, and larger pods may have taken
 * the room that the last of a group needs.
 */
import type { Steps } from "../../../base/steps.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { type Batch, planOf } from "../../provisioning/solve.ts";
import { affinityGroupsOf } from "../../provisioning/together.ts";
import { placesMore } from "../acceptance.ts";

/**
 * The batch with the groups first that the plan left pods of; undefined: there are none, or more pods find no place
 * by that.
 */
export function* withHostGroupsFirst(
  batch: Batch,
  plan: SchedulingResult,
): Steps<Batch | undefined> {
  const pending = new Set(plan.unschedulable.map(({ pod }) => pod));
  const together = yield* affinityGroupsOf(batch.queued, pending);
  if (together.size === 0) return undefined;
  const ahead = { ...batch, together };
  // Most of these pods fit nowhere together and come back in each pass: one greedy plan tells.
  return placesMore(yield* planOf(ahead), plan) ? ahead : undefined;
}
