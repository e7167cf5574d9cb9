/**
 * Drops one node of the plan and places its pods where the prices of the other nodes rise least, or on new nodes that
 * cost less. Greedy and packed plans end with nodes for the pods that were left over, though other nodes have room by
 * then. And the greedy rules put pods on one dear node that two cheap ones would serve.
 */

import type { PlannedClaim, SchedulingResult } from "../../provisioning/result.ts";
import { planByCheapestNode } from "../../provisioning/solve.ts";
import { failureByPrice, minSavingOf } from "../acceptance.ts";
import { asPlanned, isBurstable } from "../as-planned.ts";
import { MOST_NODES_DROPPED } from "../settings.ts";
import type { Improvement } from "./improvement.ts";

export const dropNode: Improvement = {
  name: "dropNode",
  rule: { saves: "setting", strandsNoMorePods: false, mayPlaceMore: false },
  // Pods that join those of a burstable type might live on CPU credits.
  applies: (contest) => contest.mayRearrange && !contest.best.newClaims.some(isBurstable),
  improve: function* (contest) {
    const { batch, options, best: before } = contest;
    const { nodeMicroUsdPerHour } = options;
    // Of a batch that is not packed each step must mend a mistake: fewer nodes are worth more than small savings.
    const stepSaving = contest.mayPack ? 0 : minSavingOf({ saves: "mistake" }, options);
    let best = before;
    const tried = new Set<PlannedClaim["pods"][number]>();
    for (let tries = 0; tries < MOST_NODES_DROPPED && best.newClaims.length > 1; tries++) {
      const dropped = nodeToDrop(best, tried);
      const first = dropped?.pods[0];
      if (dropped === undefined || first === undefined) break;
      tried.add(first);
      const kept = best.newClaims.filter((claim) => claim !== dropped);
      const other = yield* planByCheapestNode(batch, nodeMicroUsdPerHour, (pass, queued) =>
        asPlanned(pass, queued, kept),
      );
      if (failureByPrice(other, best, stepSaving, options) === undefined) best = other;
    }
    if (best !== before) yield* contest.offerImproved("dropNode", best, dropNode.rule, before);
  },
};

/** The node with the fewest pods, for they find room most easily; of equals the dearest. A node is tried once. */
function nodeToDrop(
  { newClaims }: SchedulingResult,
  tried: ReadonlySet<PlannedClaim["pods"][number]>,
): PlannedClaim | undefined {
  const [least] = newClaims
    .filter(({ pods: [first] }) => first !== undefined && !tried.has(first))
    .sort(
      (a, b) =>
        a.pods.length - b.pods.length || b.cheapest.priceMicroUsd - a.cheapest.priceMicroUsd,
    );
  return least;
}
