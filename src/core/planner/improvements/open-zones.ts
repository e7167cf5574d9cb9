/**
 * Lets nodes be launched in every zone again. The source `cheapestNodeWithoutZone` leaves out a zone only because the
 * plan is cheaper then. But a zone may run out of instances, so a node should allow all zones that its pods allow.
 */
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { Steps } from "../../../base/steps.ts";
import type { PlannedClaim, SchedulingResult } from "../../provisioning/result.ts";
import type { Batch } from "../../provisioning/solve.ts";
import { withNodes } from "../as-planned.ts";
import { priceMicroUsd } from "../plan-price.ts";

/**
 * The plan with all zones allowed on nodes whose pods have no topology rules except over hosts. Undefined: it would
 * cost more, use more or fewer nodes, meet fewer preferences, or not give every pod its place.
 */
export function* inAllZones(
  batch: Batch,
  plan: SchedulingResult,
): Steps<SchedulingResult | undefined> {
  const zoneless = new Set(batch.queued.filter(acceptsAnyZone).map(({ pod }) => pod));
  const claims = plan.newClaims.map((claim) =>
    claim.pods.every((pod) => zoneless.has(pod)) ? withoutItsZones(claim) : claim,
  );
  const before = yield* withNodes(batch, plan, plan.newClaims);
  const other = before === undefined ? undefined : yield* withNodes(batch, plan, claims);
  if (before === undefined || other === undefined) return undefined;
  const { result, preferencesGivenUp } = other;
  if (preferencesGivenUp > before.preferencesGivenUp) return undefined;
  const costsNoMore = priceMicroUsd(result) <= priceMicroUsd(plan);
  return costsNoMore && result.newClaims.length === plan.newClaims.length ? result : undefined;
}

function acceptsAnyZone({ podClass: { variants } }: Batch["queued"][number]): boolean {
  return variants.every(({ narrowingRules }) => narrowingRules.length === 0);
}

function withoutItsZones(claim: PlannedClaim): PlannedClaim {
  const requirements = claim.requirements.filter(({ key }) => key !== TOPOLOGY_ZONE_LABEL_KEY);
  return { ...claim, requirements };
}
