/**
 * Places pods that must share a host before all others. In order of size they are placed late, and larger pods may have
 * taken the room that the last pod of a group needs.
 */
import type { Steps } from "../../../base/steps.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { type Batch, planOf } from "../../provisioning/solve.ts";
import { affinityGroupsOf } from "../../provisioning/together.ts";
import { placesMore } from "../acceptance.ts";

/**
 * The batch with those groups first of which the plan left pods out. Undefined: there are none, or no more pods find a
 * place that way.
 */
export function* withHostGroupsFirst(
  batch: Batch,
  plan: SchedulingResult,
): Steps<Batch | undefined> {
  const pending = new Set(plan.unschedulable.map(({ pod }) => pod));
  const together = yield* affinityGroupsOf(batch.queued, pending);
  if (together.size === 0) return undefined;
  const ahead = { ...batch, together };
  // Most such pods fit nowhere together and are pending in each pass. So only one greedy plan is made to decide whether
  // this helps.
  return placesMore(yield* planOf(ahead), plan) ? ahead : undefined;
}
