/** Which of two plans for the same batch is to be taken. */
import type { SchedulingResult } from "../provisioning/result.ts";
import type { PlannerOptions } from "./planner-options.ts";

/** Whether it costs less, nodes' own cost included, and nobody is left out who had a place. */
export function isBetter(
  found: SchedulingResult,
  known: SchedulingResult,
  { nodeMicroUsdPerHour, minSaving }: PlannerOptions,
): boolean {
  const price = priceMicroUsd(found);
  const knownPrice = priceMicroUsd(known);
  const nodeCost = (found.newClaims.length - known.newClaims.length) * nodeMicroUsdPerHour;
  // Fewer nodes at a higher price would be more than upstream's plan costs.
  if (price >= knownPrice || price + nodeCost > knownPrice * (1 - minSaving)) return false;
  if (found.newClaims.filter(isRelaxed).length > known.newClaims.filter(isRelaxed).length)
    return false;
  return leavesNobodyElse(found, known);
}

/** Everybody who has a place by `known` has one. */
export function leavesNobodyElse(found: SchedulingResult, known: SchedulingResult): boolean {
  if (found.unschedulable.length > known.unschedulable.length) return false;
  const leftBefore = new Set(known.unschedulable.map(({ pod }) => pod));
  return found.unschedulable.every(({ pod }) => leftBefore.has(pod));
}

export function isRelaxed(claim: SchedulingResult["newClaims"][number]): boolean {
  return claim.minValuesRelaxed;
}

/** What the new nodes of a plan cost an hour. Exported for tests. */
export function priceMicroUsd({ newClaims }: SchedulingResult): number {
  return newClaims.reduce((sum, { cheapest }) => sum + cheapest.priceMicroUsd, 0);
}
