/** Packs pods by price and places them on new nodes. The greedy rules place the remaining pods afterwards. */
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Pass } from "../../provisioning/place.ts";
import { placeOnExisting } from "../as-planned.ts";
import { uses } from "../heuristics.ts";
import type { PlannerOptions } from "../planner-options.ts";
import { FEW_LEFTOVERS, PACKING_ROUNDS } from "../settings.ts";
import { type PackingDemand, packingDemandOf } from "./demand.ts";
import { withBetterDomains } from "./domain-search.ts";
import { pack } from "./pack.ts";
import { placePacked } from "./place-packed.ts";

interface PackingTerms {
  readonly options: PlannerOptions;
  /** The packing problem of all queued pods, if the caller has computed it. */
  readonly ofAll?: PackingDemand | undefined;
  /** The most that the new nodes may cost an hour. Absent: any price. */
  readonly mostMicroUsd?: number;
}

/**
 * Places the pods that it can and returns the rest, in order. Undefined: even the lower bound exceeds `mostMicroUsd`.
 */
export function* packBelow(
  pass: Pass,
  queued: readonly QueuedPod[],
  { options, ofAll, mostMicroUsd = Number.POSITIVE_INFINITY }: PackingTerms,
): Steps<readonly QueuedPod[] | undefined> {
  const budget = { units: options.baseWork };
  const rounds = uses(options, "moreRounds") ? PACKING_ROUNDS : 1;
  let rest = yield* withoutPlaced(pass, queued);
  for (let round = 0; round < rounds && rest.length > 0; round++) {
    budget.units = Math.max(budget.units, options.baseWork / PACKING_ROUNDS);
    const isKnown = rest === queued && ofAll !== undefined;
    const demand = isKnown ? ofAll : yield* packingDemandOf(pass, rest, options);
    const { rows, resourcePrices } = demand;
    const packed = rest.length - demand.others.length;
    if (round === 0) budget.units = Math.max(budget.units, options.workPerPod * packed);
    if (round === 0 && resourcePrices.leastCost > mostMicroUsd) return undefined;
    const solution =
      rows.length === 0 ? undefined : yield* pack(demand, resourcePrices, budget, options);
    if (solution === undefined) break;
    const first = { demand, solution };
    const best = round === 0 ? yield* withBetterDomains(first, options) : first;
    const left = new Set(demand.others);
    for (const item of yield* placePacked(pass, best.demand, best.solution)) left.add(item);
    const areFew = left.size <= queued.length * FEW_LEFTOVERS;
    const isLast = left.size === rest.length || areFew;
    rest = yield* filterInSteps(rest, (item) => left.has(item));
    if (isLast) break;
  }
  return rest;
}

/** Places pods on existing nodes, which cost nothing more. Returns the remaining pods, in order. */
function* withoutPlaced(pass: Pass, queued: readonly QueuedPod[]): Steps<readonly QueuedPod[]> {
  if (pass.nodes.length === 0) return queued;
  return yield* filterInSteps(queued, (item) => !placeOnExisting(pass, item));
}
