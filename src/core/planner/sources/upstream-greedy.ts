/** Upstream's greedy rules exactly. Their choice of zones sometimes costs less, or places one more pod. */
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
