/**
 * What the limits of NodePools cost: the batch is planned once more as if its pools had none. Only asked where limits
 * kept types from the plan, for it takes as long as the plan itself.
 */
import { NO_RESOURCES, type Resources, subtractResources } from "../../apis/resources.ts";
import type { Steps } from "../../base/steps.ts";
import {
  affordable,
  isLimited,
  type Template,
  unlimited,
} from "../provisioning/pools/pool-template.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { bitIndices, hasBit } from "../scheduling/bits.ts";
import { priceMicroUsd } from "./plan-price.ts";

/** Undefined: nothing, or other pods would have a place without them. `plan`: as the batch itself was planned. */
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
  return { poolIds: limiting.map(({ pool }) => pool.id).sort(), microUsdPerHour };
}

/** Whether one more node, beside those of the plan, could not be of every type that the pool may use. */
function keepsTypesOut(template: Template, { newClaims }: SchedulingResult): boolean {
  if (!isLimited(template)) return false;
  const own = newClaims.filter(({ pool }) => pool.id === template.pool.id);
  const used = own.map(({ instanceTypes: [cheapest] }) => ({ ...cheapest?.capacity, nodes: 1 }));
  const left = used.reduce<Resources>(subtractResources, NO_RESOURCES);
  const within = affordable(template, left);
  return within !== undefined && bitIndices(template.usable).some((type) => !hasBit(within, type));
}
