/**
 * A batch that may not use one of its zones. Where pods may go to several, rules and greed take the zone that is cheapest
 * for the first of them, and those who follow it there may find no machine that is large, or of enough types.
 */
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { Steps } from "../../base/steps.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { priceMicroUsd } from "./better.ts";
import { withNodes } from "./repair.ts";

/** Each is a plan of the whole batch. */
const MOST_TRIED = 4;

/** The batch without each of the zones in turn that the plan buys nodes in; none where it needs but one node. */
export function withFewerZones(batch: Batch, { newClaims }: SchedulingResult): readonly Batch[] {
  if (newClaims.length < 2) return [];
  const zones = [...new Set(newClaims.map(({ cheapest }) => cheapest.zone))].sort();
  return zones.slice(0, MOST_TRIED).map((zone) => withoutZone(batch, zone));
}

/** Pools that have no other zone keep theirs. */
function withoutZone(batch: Batch, zone: string): Batch {
  const { base } = batch;
  const { space } = base.context;
  const templates = base.templates.map((template) => {
    const own = space.get(template.set).get(TOPOLOGY_ZONE_LABEL_KEY);
    const others = template.table.valuesOf(template.usable, own).filter((one) => one !== zone);
    const set = space.narrow(template.set, TOPOLOGY_ZONE_LABEL_KEY, others);
    return others.length === 0 || set === undefined ? template : { ...template, set };
  });
  return { ...batch, base: { ...base, templates } };
}

/**
 * The plan with all zones open to nodes whose pods do not care: the cloud may be short of machines in those that are left.
 * As it is where that would cost more.
 */
export function* inAllZones(batch: Batch, plan: SchedulingResult): Steps<SchedulingResult> {
  const careless = new Set(batch.queued.filter(isCareless).map(({ pod }) => pod));
  const claims = plan.newClaims.map((claim) =>
    claim.pods.every((pod) => careless.has(pod)) ? withoutItsZones(claim) : claim,
  );
  const before = yield* withNodes(batch, plan, plan.newClaims);
  const other = before === undefined ? undefined : yield* withNodes(batch, plan, claims);
  if (before === undefined || other === undefined || other.givenUp > before.givenUp) return plan;
  const costsNoMore = priceMicroUsd(other.result) <= priceMicroUsd(plan);
  return costsNoMore && other.result.newClaims.length === plan.newClaims.length
    ? other.result
    : plan;
}

function isCareless({ podClass: { variants } }: Batch["queued"][number]): boolean {
  return variants.every(({ narrowingRules }) => narrowingRules.length === 0);
}

function withoutItsZones(claim: PlannedClaim): PlannedClaim {
  const requirements = claim.requirements.filter(({ key }) => key !== TOPOLOGY_ZONE_LABEL_KEY);
  return { ...claim, requirements };
}
