/** Which of two plans for the same batch is to be taken. */
import { rankOf } from "../provisioning/pools/rank.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { PlannerOptions } from "./planner-options.ts";

/** Whether it costs less, nodes' own cost included, nobody is left out who had a place, and pools keep their weights. */
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
  return leavesNobodyElse(found, known) && keepsToWeights(found, known);
}

/**
 * Whether as many pods as by `known` come to the heaviest pools at the least, and to these and the next ones, and so
 * on: a lighter pool is for what the heavier ones cannot take, however cheap it is. Who goes to a node that is
 * there needs no pool.
 */
function keepsToWeights(found: SchedulingResult, known: SchedulingResult): boolean {
  const ranks = new Set([...found.newClaims, ...known.newClaims].map(({ pool }) => rankOf(pool)));
  if (ranks.size <= 1) return true;
  return [...ranks].every((rank) => podsFrom(rank, found) >= podsFrom(rank, known));
}

/** Pods on nodes that are there, and on new ones of pools of this rank or a higher one. */
function podsFrom(rank: number, { newClaims, existing }: SchedulingResult): number {
  const high = newClaims.filter(({ pool }) => rankOf(pool) >= rank);
  return [...high, ...existing].reduce((sum, { pods }) => sum + pods.length, 0);
}

/** Whether more find a place, and nobody is left out who had one. */
export function placesMore(found: SchedulingResult, known: SchedulingResult): boolean {
  return found.unschedulable.length < known.unschedulable.length && leavesNobodyElse(found, known);
}

/** Everybody who has a place by `known` has one. */
function leavesNobodyElse(found: SchedulingResult, known: SchedulingResult): boolean {
  if (found.unschedulable.length > known.unschedulable.length) return false;
  const leftBefore = new Set(known.unschedulable.map(({ pod }) => pod));
  return found.unschedulable.every(({ pod }) => leftBefore.has(pod));
}

export function isRelaxed(claim: SchedulingResult["newClaims"][number]): boolean {
  return claim.minValuesRelaxed;
}

/** What the new nodes of a plan cost an hour. Exported for tests. */
export function priceMicroUsd({ newClaims }: Pick<SchedulingResult, "newClaims">): number {
  return newClaims.reduce((sum, { cheapest }) => sum + cheapest.priceMicroUsd, 0);
}
