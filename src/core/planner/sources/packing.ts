/** Packs the batch by price, then places each pod by the usual scheduling rules. */
import type { Steps } from "../../../base/steps.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { planOf } from "../../provisioning/solve.ts";
import { packBelow } from "../packing/pack-first.ts";
import type { PlanSelection } from "../plan-selection.ts";
import type { PlanStep } from "../plan-step.ts";
import { greedy } from "./greedy.ts";

export const packing: PlanStep = {
  name: "packing",
  rule: { saves: "setting", strandsNoMorePods: false, mayPlaceMore: false },
  applies: (selection) =>
    selection.mayPack && !(selection.hasPlan && selection.best.newClaims.length === 0),
  plan: function* (selection) {
    const packed = yield* packedPlan(selection);
    if (!selection.hasPlan && selection.race?.isWonBy(packed) === true)
      selection.noteStopped("greedy");
    // The greedy rules had stopped, but the packing costs more than expected.
    else if (!selection.hasPlan)
      yield* selection.offer("greedy", yield* planOf(selection.batch), greedy.rule);
    yield* selection.offer("packing", packed, packing.rule);
  },
};

function* packedPlan({ batch, options, race }: PlanSelection): Steps<SchedulingResult> {
  let demand = race?.demand;
  return yield* planOf(batch, function* (pass, queued) {
    const ofAll = demand;
    // Placing pods removes them from the demand, so a second packing must make a new one.
    demand = undefined;
    return yield* packBelow(pass, queued, { options, ofAll });
  });
}
