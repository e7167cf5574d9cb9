/**
 * Drops one node of the plan. Its pods go to other nodes, or to new nodes that cost less. Greedy and packed plans often
 * end with nodes for leftover pods, though other nodes have room by then.
 */

import type { PlannedClaim, SchedulingResult } from "../../provisioning/result.ts";
import { planByCheapestNode } from "../../provisioning/solve.ts";
import { failureByPrice } from "../acceptance.ts";
import { asPlanned, isBurstable } from "../as-planned.ts";
import type { PlanStep } from "../plan-step.ts";
import { MOST_NODES_DROPPED } from "../settings.ts";

export const dropNode: PlanStep = {
  name: "dropNode",
  rule: { saves: "setting", strandsNoMorePods: false, mayPlaceMore: false },
  // A burstable type is cheap because of CPU credits, which run out. Prices alone must not change such a plan.
  applies: (selection) => selection.mayRearrange && !selection.best.newClaims.some(isBurstable),
  plan: function* (selection) {
    const { batch, options, best: before } = selection;
    const { nodeMicroUsdPerHour } = options;
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
      if (failureByPrice(other, best, 0, options) === undefined) best = other;
    }
    if (best !== before) yield* selection.offerImproved("dropNode", best, dropNode.rule, before);
  },
};

/** The node with the fewest pods that was not tried yet. Among equal nodes, the most expensive one. */
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
