/**
 * Upstream's rules to the letter. This project's greedy rules choose domains with more care; now and then upstream's
 * choice costs less or places another pod.
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
