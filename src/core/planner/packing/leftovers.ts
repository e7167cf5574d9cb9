/**
 * Leftovers are the few pods that a packing found no place for, mostly because their zones have no room left. Packing
 * them again would open more nodes and take as long as the first packing. Instead each pod goes to the planned node
 * whose price rises least, or to a new node if that is cheaper.
 */
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import { type Pass, place } from "../../provisioning/place.ts";
import {
  FEW_LEFTOVERS,
  LEFTOVERS_BY_PRICE,
  LEFTOVERS_NOT_PRICED,
  MOST_LEFTOVER_QUESTIONS,
} from "../settings.ts";

/** Each pod is tried on every planned node. */
const PODS_PER_STEP = 1;

/** Whether the pods that are left are few enough to be placed without another packing. */
export function areFewLeftovers(pass: Pass, left: number, batchPods: number): boolean {
  return left <= batchPods * FEW_LEFTOVERS || goByPrice(pass, left, batchPods);
}

/** Places leftovers where the price rises least and returns the rest, in order, for the greedy rules. */
export function* placeLeftovers(
  pass: Pass,
  left: readonly QueuedPod[],
  batchPods: number,
  nodeMicroUsdPerHour: number,
): Steps<readonly QueuedPod[]> {
  const isPriced = left.length > batchPods * LEFTOVERS_NOT_PRICED;
  if (!isPriced || !goByPrice(pass, left.length, batchPods)) return left;
  const byPrice = { ...pass, nodeMicroUsd: nodeMicroUsdPerHour };
  return yield* filterInSteps(left, PODS_PER_STEP, (item) => place(byPrice, item) !== "placed");
}

/** Not for many pods: they ask too many nodes. Not with burstable types: CPU credits would make them look cheap. */
function goByPrice({ claims, templates }: Pass, left: number, batchPods: number): boolean {
  // Each pod may open one more node, and later pods are tried on that node, too.
  const questions = left * (claims.size + left);
  if (left > batchPods * LEFTOVERS_BY_PRICE || questions > MOST_LEFTOVER_QUESTIONS) return false;
  return templates.every(({ steady }) => steady === undefined);
}
