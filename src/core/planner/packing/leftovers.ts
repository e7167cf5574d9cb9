/**
 * The few pods that a packing has no place for: zones that they must go to have no room left, mostly. Packed anew they
 * would open more nodes and take as long again. So each goes to the planned node whose price rises least by it, or to a new one where
 * that is cheaper; not where they are many (nothing may be packed at all), which asks too many nodes, nor where pools have
 * burstable types, whose credits would make them cheap.
 */
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import { type Pass, place } from "../../provisioning/place.ts";

/** So few of all are the rules' to place, on nodes that are planned already, if not by price. */
const FOR_THE_RULES = 0.02;
/** Of so few prices are not worth asking. */
const FOR_NOTHING = 0.002;
/** So few are placed by price. */
const BY_PRICE = 0.15;
/** How often a planned node may be asked about a pod, some fifty milliseconds. */
const MOST_ASKED = 100_000;
/** It asks all nodes. */
const PODS_PER_STEP = 1;

/** Whether no more packings are made for those who are left, of so many. */
export function isTail(pass: Pass, left: number, all: number): boolean {
  return left <= all * FOR_THE_RULES || isByPrice(pass, left, all);
}

/**
 * Places what it can and returns the rest, in order. `all`: how many pods the batch has; `nodeMicroUsd`: what a node costs an
 * hour beyond its machine.
 */
export function* placeTail(
  pass: Pass,
  left: readonly QueuedPod[],
  all: number,
  nodeMicroUsd: number,
): Steps<readonly QueuedPod[]> {
  if (left.length <= all * FOR_NOTHING || !isByPrice(pass, left.length, all)) return left;
  const thrifty = { ...pass, thrift: nodeMicroUsd };
  return yield* filterInSteps(left, PODS_PER_STEP, (item) => place(thrifty, item) !== "placed");
}

function isByPrice({ claims, templates }: Pass, left: number, all: number): boolean {
  // Each may open one more node that the next is asked about.
  const asked = left * (claims.size + left);
  if (left > all * BY_PRICE || asked > MOST_ASKED) return false;
  return templates.every(({ steady }) => steady === undefined);
}
