/**
 * Upstream's greedy rules exactly. The greedy rules of karpenter-ts choose zones and other domains with more care, but
 * sometimes upstream's choice costs less or places one more pod.
 */
import { planAsUpstream } from "../../provisioning/solve.ts";
import type { PlanStep } from "../plan-step.ts";

export const upstreamGreedy: PlanStep = {
  name: "upstreamGreedy",
  rule: { saves: "anything", strandsNoMorePods: false, mayPlaceMore: true },
  applies: (selection) => selection.mayReplan,
  plan: function* (selection) {
    const plan = yield* planAsUpstream(selection.batch);
    if (plan !== undefined) yield* selection.offer("upstreamGreedy", plan, upstreamGreedy.rule);
  },
};
