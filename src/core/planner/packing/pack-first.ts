/** Packs pods by price and places them by the rules, ahead of the pods that the rules place alone. */
import { eachInSteps, filterInSteps, type Steps } from "../../../base/steps.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Pass } from "../../provisioning/place.ts";
import { fitsExisting } from "../as-planned.ts";
import type { PlannerOptions } from "../planner-options.ts";
import { PACKING_ROUNDS } from "../settings.ts";
import { carryOut } from "./carry-out.ts";
import { type Demand, demandOf } from "./demand.ts";
import { betterDivided } from "./exchange.ts";
import { isTail, placeTail } from "./leftovers.ts";
import { pack } from "./pack.ts";

const TRIES_PER_STEP = 64;
/** For pods that are only looked at. */
const PODS_PER_STEP = 8_192;

interface Terms {
  readonly options: PlannerOptions;
  /** What all the queued pods ask for, if that is known. */
  readonly ofAll?: Demand | undefined;
}

/** Places what it can and returns the rest, in order. */
export function* packFirst(
  pass: Pass,
  queued: readonly QueuedPod[],
  terms: Terms,
): Steps<readonly QueuedPod[]> {
  const left = yield* packBelow(pass, queued, { ...terms, mostMicroUsd: Number.POSITIVE_INFINITY });
  return left ?? queued;
}

/**
 * As {@link packFirst}. Undefined: the lower bound on the cost of the new nodes, with what nodes cost beyond their
 * machines, exceeds `mostMicroUsd` an hour. No pod was placed on a new node then.
 */
export function* packBelow(
  pass: Pass,
  queued: readonly QueuedPod[],
  { options, ofAll, mostMicroUsd }: Terms & { readonly mostMicroUsd: number },
): Steps<readonly QueuedPod[] | undefined> {
  const budget = { units: options.baseWork };
  let rest = yield* withoutPlaced(pass, queued);
  for (let round = 0; round < PACKING_ROUNDS && rest.length > 0; round++) {
    budget.units = Math.max(budget.units, options.baseWork / PACKING_ROUNDS);
    const isKnown = rest === queued && ofAll !== undefined;
    const demand = isKnown ? ofAll : yield* demandOf(pass, rest, options);
    const packed = rest.length - demand.others.length;
    if (round === 0) budget.units = Math.max(budget.units, options.workPerPod * packed);
    if (round === 0 && demand.worth.leastCost > mostMicroUsd) return undefined;
    const { rows, worth } = demand;
    const uses = rows.length === 0 ? undefined : yield* pack(demand, worth, budget, options);
    if (uses === undefined) break;
    const divided = { demand, uses };
    const best = round === 0 ? yield* betterDivided(divided, options) : divided;
    const left = new Set(demand.others);
    for (const item of yield* carryOut(pass, best.demand, best.uses)) left.add(item);
    const isLast = left.size === rest.length || isTail(pass, left.size, queued.length);
    rest = yield* filterInSteps(rest, PODS_PER_STEP, (item) => left.has(item));
    if (isLast) break;
  }
  return yield* placeTail(pass, rest, queued.length, options.nodeMicroUsdPerHour);
}

/** Puts pods on existing nodes, which cost nothing more. The rest, in order; the same list where there are no such nodes. */
function* withoutPlaced(pass: Pass, queued: readonly QueuedPod[]): Steps<readonly QueuedPod[]> {
  if (pass.nodes.length === 0) return queued;
  const left: QueuedPod[] = [];
  yield* eachInSteps(queued, TRIES_PER_STEP, (item) => {
    if (!fitsExisting(pass, item)) left.push(item);
  });
  return left;
}
