/** Packs the batch by price, then places each pod by the usual scheduling rules. */
import type { Steps } from "../../../base/steps.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { planOf } from "../../provisioning/solve.ts";
import type { Contest } from "../contest.ts";
import { packBelow } from "../packing/pack-first.ts";
import { finishGreedy } from "./greedy.ts";
import type { PlanSource } from "./source.ts";

export const packing: PlanSource = {
  name: "packing",
  rule: { saves: "setting", strandsNoMorePods: false, mayPlaceMore: false },
  applies: (contest) =>
    contest.mayPack && !(contest.hasPlan && contest.best.newClaims.length === 0),
  plan: function* (contest) {
    const packed = yield* packedPlan(contest);
    if (!contest.hasPlan && contest.race?.isWonBy(packed) === true) contest.noteStopped("greedy");
    else if (!contest.hasPlan) yield* finishGreedy(contest);
    yield* contest.offer("packing", packed, packing.rule);
  },
};

function* packedPlan({ batch, options, race }: Contest): Steps<SchedulingResult> {
  let demand = race?.demand;
  return yield* planOf(batch, function* (pass, queued) {
    const ofAll = demand;
    // Placing pods removes them from the demand, so a second packing must make a new one.
    demand = undefined;
    return (yield* packBelow(pass, queued, { options, ofAll })) ?? queued;
  });
}
