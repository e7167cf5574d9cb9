/**
 * How far a rehearsal (rehearsal.ts) has come, for people who wait for it. A lower bound of the price says how much it
 * can save at most.
 */
import { addToSum } from "../../apis/resources.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { requestsOf } from "../state/node-view.ts";
import { leastPriceOf } from "./least-price.ts";
import type { Model } from "./model.ts";
import { totalsOf } from "./totals.ts";

/** How far a rehearsal has come. */
export interface RehearsalProgress {
  /** Number of commands that were carried out. */
  readonly commands: number;
  readonly nodes: number;
  /** The price of the cluster now. */
  readonly priceMicroUsdPerHour: number;
  /** How much simulated time has passed, in milliseconds. */
  readonly simulatedMs: number;
  /**
   * What was saved, as a share of what can be saved at most: the price at the start less a proven lower bound. Absent:
   * nothing was saved, or the bound is not below the price at the start. Nodes without a known price are not in prices,
   * but what their pods request is in the bound.
   */
  readonly savedShare?: number;
}

/** Follows a rehearsal, which takes minutes in a large cluster. */
export interface RehearsalWatch {
  /** Called after each round of the disruption loop. */
  readonly tell: (progress: RehearsalProgress) => void;
  /** Asked at each pause. If it returns true, the rehearsal ends with the rounds that are complete. */
  readonly isOver: () => boolean;
}

/**
 * Runs the steps until `isOver` returns true at a pause. Then the result is undefined, and the steps are ended: a
 * what-if question that they have open must be closed, or the next one fails.
 */
export function* unlessOver<T>(steps: Steps<T>, isOver: () => boolean): Steps<T | undefined> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (isOver()) {
      steps.return(undefined as T);
      return undefined;
    }
    yield;
  }
}

/** The price at the start, and the least price for which nodes can have the same pods. */
export interface MostSaving {
  readonly startMicroUsd: number;
  readonly leastMicroUsd: number;
}

export function* mostSaving(start: Model): Steps<MostSaving> {
  const { picture, pools } = start;
  const demand: Record<string, number> = {};
  yield* eachInSteps(picture.nodes, (node) => {
    if (node.managed) addToSum(demand, requestsOf(node));
  });
  yield;
  const offered = pools.filter(({ instanceTypes }) => instanceTypes.length > 0);
  return {
    startMicroUsd: (yield* totalsOf(start)).priceMicroUsdPerHour,
    leastMicroUsd: leastPriceOf({ ...picture.scheduling, nodes: [], pools: offered }, demand),
  };
}

interface Done {
  readonly commands: number;
  readonly priceMicroUsdPerHour: number;
  readonly most: MostSaving;
}

export function progressOf(start: Model, { picture }: Model, done: Done): RehearsalProgress {
  const { commands, priceMicroUsdPerHour, most } = done;
  const { startMicroUsd, leastMicroUsd } = most;
  const savedMicroUsd = startMicroUsd - priceMicroUsdPerHour;
  const mostMicroUsd = startMicroUsd - leastMicroUsd;
  const isShare = savedMicroUsd > 0 && savedMicroUsd <= mostMicroUsd;
  return {
    commands,
    nodes: picture.nodes.length,
    priceMicroUsdPerHour,
    simulatedMs: picture.nowMs - start.picture.nowMs,
    ...(isShare ? { savedShare: savedMicroUsd / mostMicroUsd } : {}),
  };
}
