/**
 * A race between the greedy rules and a packing by price. Once the unfinished greedy plan costs more than a packing is
 * expected to cost, the packing is made. If it is as cheap as expected, the greedy plan is never finished.
 */
import type { Steps } from "../../../base/steps.ts";
import type { OpenClaims } from "../../provisioning/nodes/open-claims.ts";
import { PriceFloor } from "../../provisioning/pools/price-floor.ts";
import { rankOf } from "../../provisioning/pools/rank.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import type { Batch } from "../../provisioning/solve.ts";
import { type PackingDemand, packingDemandOf } from "../packing/demand.ts";
import { priceMicroUsd } from "../plan-price.ts";
import type { PlannerOptions } from "../planner-options.ts";
import { EXPECTED_PACKING_COST } from "../settings.ts";
import { PartialPlanBound } from "./partial-plan-bound.ts";

export interface Race {
  /** Whether the unfinished greedy plan already costs so much that a packing is expected to save enough. */
  readonly isLost: (claims: OpenClaims) => boolean;
  /** Whether this packing would replace the finished greedy plan, because the unfinished one costs so much already. */
  readonly isWonBy: (packed: SchedulingResult) => boolean;
  /** The packing problem of the batch. Placing pods removes them from it, so it can be used only once. */
  readonly demand: PackingDemand;
}

/**
 * The race of this batch. Undefined: the price of a packing cannot be predicted, so the greedy plan is finished first.
 * Reasons: affinity groups are placed first, pods differ in priority, nodes exist, or NodePools differ in rank
 * (weight).
 */
export function* raceOf(
  { base, queued, isOfOnePriority, together }: Batch,
  { nodeMicroUsdPerHour, minSaving, ...options }: PlannerOptions,
): Steps<Race | undefined> {
  const { templates, context, nodes } = base;
  const isUncertain = together !== undefined || !isOfOnePriority || nodes.length > 0;
  if (isUncertain || !areOfOneRank(templates)) return undefined;
  const demand = yield* packingDemandOf(base, queued, { nodeMicroUsdPerHour, ...options });
  const expected = demand.resourcePrices.leastCost * EXPECTED_PACKING_COST;
  const soFar = new PartialPlanBound(templates, new PriceFloor(templates, context.space));
  let [least, nodeCount] = [0, 0];
  const beats = (price: number, size: number) =>
    price < least && price + (size - nodeCount) * nodeMicroUsdPerHour <= least * (1 - minSaving);
  return {
    isLost: ({ all }) => {
      [least, nodeCount] = [soFar.of(all), all.length];
      return beats(expected, 0);
    },
    isWonBy: (packed) =>
      beats(priceMicroUsd(packed), packed.newClaims.length) &&
      !packed.newClaims.some(({ minValuesRelaxed }) => minValuesRelaxed) &&
      packed.unschedulable.length === 0,
    demand,
  };
}

function areOfOneRank(templates: Batch["base"]["templates"]): boolean {
  return new Set(templates.map(({ pool }) => rankOf(pool))).size <= 1;
}
