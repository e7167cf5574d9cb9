/** The greedy rules, the first plan source: the largest pod first, each on the first node that accepts it. */
import type { PodClass } from "../../provisioning/batch/pod-class.ts";
import { PriceFloor } from "../../provisioning/pools/price-floor.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { type Batch, planOf, planUntil } from "../../provisioning/solve.ts";
import { totalRequests } from "../packing/total-requests.ts";
import { priceMicroUsd } from "../plan-price.ts";
import type { PlanStep } from "../plan-step.ts";
import type { PlannerOptions } from "../planner-options.ts";
import { raceOf } from "./race.ts";

export const greedy: PlanStep = {
  name: "greedy",
  rule: { saves: "anything", strandsNoMorePods: false, mayPlaceMore: true },
  applies: () => true,
  plan: function* (selection) {
    const { batch, mayPack, options } = selection;
    const races = mayPack && selection.uses("race") && selection.uses("packing");
    selection.race = races ? yield* raceOf(batch, options) : undefined;
    const plan = yield* selection.race === undefined
      ? planOf(batch)
      : planUntil(batch, selection.race.isLost);
    if (plan === undefined) return;
    yield* selection.offer("greedy", plan, greedy.rule);
    const isWeighed = mayPack && plan.newClaims.length > 0;
    selection.isSettled = isWeighed && isNearTheBound(batch, plan, options);
  },
};

/** Whether the plan's price is so close to the lower bound for its pods that no other plan can save `minSaving`. */
function isNearTheBound(
  { base, queued }: Batch,
  { newClaims, existing, unschedulable }: SchedulingResult,
  { nodeMicroUsdPerHour, minSaving }: PlannerOptions,
): boolean {
  const elsewhere = new Set(unschedulable.map(({ pod }) => pod));
  for (const { pods } of existing) for (const pod of pods) elsewhere.add(pod);
  const counts = new Map<PodClass, number>();
  for (const { pod, podClass } of queued)
    if (!elsewhere.has(pod)) counts.set(podClass, (counts.get(podClass) ?? 0) + 1);
  const least = new PriceFloor(base.templates, base.context.space).least(totalRequests(counts));
  const fewerNodes = (newClaims.length - 1) * nodeMicroUsdPerHour;
  return least - fewerNodes > priceMicroUsd({ newClaims }) * (1 - minSaving);
}
