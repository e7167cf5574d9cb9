/**
 * How much NodePool limits add to the price of a plan. To find out, the batch is planned again without limits. That
 * doubles the time, so it is done only if limits leave too little for one more node of some instance type.
 */
import { NO_RESOURCES, type Resources, subtractResources } from "../../apis/resources.ts";
import type { Steps } from "../../base/steps.ts";
import { affordable, type Template, unlimited } from "../provisioning/pools/pool-template.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { bitIndices, hasBit } from "../scheduling/bits.ts";
import { priceMicroUsd } from "./plan-price.ts";

/**
 * How much less the batch would cost without NodePool limits. Undefined: the limits exclude no instance type, or the
 * plan without limits is not cheaper, or leaves a different number of pods without a place. `plan`: the function that
 * planned the batch.
 */
export function* limitCost(
  batch: Batch,
  result: SchedulingResult,
  plan: (batch: Batch) => Steps<{ readonly plan: SchedulingResult }>,
): Steps<SchedulingResult["limitCost"]> {
  const { base } = batch;
  const limiting = base.templates.filter((one) => keepsTypesOut(one, result));
  if (limiting.length === 0 || result.newClaims.length === 0) return undefined;
  const templates = base.templates.map((one) => (limiting.includes(one) ? unlimited(one) : one));
  const { plan: free } = yield* plan({ ...batch, base: { ...base, templates } });
  const microUsdPerHour = priceMicroUsd(result) - priceMicroUsd(free);
  if (microUsdPerHour <= 0 || free.unschedulable.length !== result.unschedulable.length)
    return undefined;
  const poolIds = limiting.map(({ pool }) => pool.id).sort();
  return { poolIds, microUsdPerHour };
}

/**
 * Whether the limits exclude some instance type for one more node, after all nodes of the plan at their cheapest types.
 */
function keepsTypesOut(template: Template, { newClaims }: SchedulingResult): boolean {
  const own = newClaims.filter(({ pool }) => pool.id === template.pool.id);
  const used = own.map(({ instanceTypes: [cheapest] }) => ({ ...cheapest?.capacity, nodes: 1 }));
  const left = used.reduce<Resources>(subtractResources, NO_RESOURCES);
  const within = affordable(template, left);
  return within !== undefined && bitIndices(template.usable).some((type) => !hasBit(within, type));
}
