/**
 * Upstream's greedy rules exactly. The greedy rules of karpenter-ts choose domains with more care, but sometimes
 * upstream's choice costs less or places one more pod.
 */
import { planAsUpstream } from "../../provisioning/solve.ts";
import type { PlanSource } from "./source.ts";

export const upstreamGreedy: PlanSource = {
  name: "upstreamGreedy",
  rule: { saves: "anything", strandsNoMorePods: false, mayPlaceMore: true },
  applies: (contest) => contest.mayReplan,
  plan: function* (contest) {
    const plan = yield* planAsUpstream(contest.batch);
    if (plan !== undefined) yield* contest.offer("upstreamGreedy", plan, upstreamGreedy.rule);
  },
};
