/**
 * Places pods with an affinity to each other before all others. In the usual order, by size, small pods of such a group
 * are placed late. By then, larger pods may have taken the room on the group's host or in its zone.
 */
import type { Steps } from "../../../base/steps.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { type Batch, planOf } from "../../provisioning/solve.ts";
import { affinityGroupsOf } from "../../provisioning/together.ts";
import { placesMore } from "../acceptance.ts";

/**
 * The batch with the pods of affinities that have a pending pod in front. Undefined: this order places no more pods.
 */
export function* withHostGroupsFirst(
  batch: Batch,
  plan: SchedulingResult,
): Steps<Batch | undefined> {
  const pending = new Set(plan.unschedulable.map(({ pod }) => pod));
  const together = yield* affinityGroupsOf(batch.queued, pending);
  if (together.size === 0) return undefined;
  const ahead = { ...batch, together };
  // Most groups without a place fit nowhere, in each pass. So one greedy plan shows first whether the order helps.
  return placesMore(yield* planOf(ahead), plan) ? ahead : undefined;
}
