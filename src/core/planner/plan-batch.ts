/**
 * The planner: upstream's own rules make one plan, a packing by price another, and the cheaper one
 * that places no pod less is taken. So no batch ever costs more than it would by the rules alone,
 * and every plan is one that the engine itself allows.
 */

import { keyOf } from "../../apis/meta.ts";
import { atOnce, eachInSteps, type Steps } from "../../base/steps.ts";
import type { PodClass } from "../provisioning/pod-class.ts";
import { PriceFloor } from "../provisioning/price-floor.ts";
import { inOrderInSteps, type QueuedPod } from "../provisioning/queue.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import { type Batch, onExistingNode, type Pass, planOf, prepare } from "../provisioning/solve.ts";
import { carryOut } from "./carry-out.ts";
import { type Demand, demandOf } from "./demand.ts";
import { pack } from "./pack.ts";
import type { PlannerOptions } from "./planner-options.ts";
import { resourcePrices } from "./resource-prices.ts";

/** Plans one batch, as `solve` does and under the same promises. */
export function planBatch(input: SchedulingInput, options: PlannerOptions): SchedulingResult {
  return atOnce(planBatchInSteps(input, options));
}

/** As {@link planBatch}, for whoever has other things to do in between. */
export function* planBatchInSteps(
  input: SchedulingInput,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  const batch = yield* prepare(input);
  const byRules = yield* planOf(batch);
  if (options.policy === "greedy" || input.pods.length < options.minPods) return byRules;
  // Each unit of a reservation can be promised once: the rules keep that count.
  if (batch.base.templates.some(({ table }) => table.offerings.hasReserved)) return byRules;
  if (byRules.newClaims.length === 0) return byRules;
  if (leavesNothingToSave(batch, byRules, options)) return byRules;
  const byPrice = yield* planOf(batch, (pass, queued) => packFirst(pass, queued, options));
  return isBetter(byPrice, byRules, options) ? byPrice : byRules;
}

/**
 * Whether what the pods on new nodes ask for costs, at the least price of each resource, about as much
 * as the rules' plan does: then no packing is looked for.
 */
function leavesNothingToSave(
  { base, queued }: Batch,
  byRules: SchedulingResult,
  { nodeMicroUsdPerHour, minSaving }: PlannerOptions,
): boolean {
  const { newClaims, existing, unschedulable } = byRules;
  const elsewhere = new Set(unschedulable.map(({ pod }) => pod));
  for (const { pods } of existing) for (const pod of pods) elsewhere.add(pod);
  const counts = new Map<PodClass, number>();
  for (const { pod, podClass } of queued)
    if (!elsewhere.has(pod)) counts.set(podClass, (counts.get(podClass) ?? 0) + 1);
  const demand: Record<string, number> = {};
  for (const [{ requests }, count] of counts)
    for (const name in requests)
      demand[name] = (demand[name] ?? 0) + (requests[name] as number) * count;
  const least = new PriceFloor(base.templates, base.context.space).least(demand);
  const fewerNodes = (newClaims.length - 1) * nodeMicroUsdPerHour;
  return least - fewerNodes > priceMicroUsd(byRules) * (1 - minSaving);
}

/** How often what a round could not place is packed anew. */
const ROUNDS = 3;
/** So few left are the rules' to place, on nodes that are planned already: anew they would open more. */
const TAIL_SHARE = 0.02;
const TRIES_PER_STEP = 64;

/**
 * Places what it can and returns the rest, in order; undefined: the new nodes that it takes cost more than
 * `mostMicroUsd` an hour whatever the plan, what nodes cost beyond their machines included.
 */
export function packFirst(
  pass: Pass,
  queued: readonly QueuedPod[],
  options: PlannerOptions,
): Steps<readonly QueuedPod[]>;
export function packFirst(
  pass: Pass,
  queued: readonly QueuedPod[],
  options: PlannerOptions,
  mostMicroUsd: number,
): Steps<readonly QueuedPod[] | undefined>;
export function* packFirst(
  pass: Pass,
  queued: readonly QueuedPod[],
  options: PlannerOptions,
  mostMicroUsd = Number.POSITIVE_INFINITY,
): Steps<readonly QueuedPod[] | undefined> {
  const budget = { units: options.baseWork + options.workPerPod * queued.length };
  let rest = queued;
  if (pass.nodes.length > 0) {
    const left: QueuedPod[] = [];
    yield* eachInSteps(rest, TRIES_PER_STEP, (item) => {
      if (!fitsExisting(pass, item)) left.push(item);
    });
    rest = left;
  }
  for (let round = 0; round < ROUNDS && rest.length > 0; round++) {
    budget.units = Math.max(budget.units, options.baseWork / ROUNDS);
    const demand = demandOf(pass, rest, options);
    const isCapped = round === 0 && mostMicroUsd < Number.POSITIVE_INFINITY;
    if (isCapped && leastCostOf(demand) > mostMicroUsd) return undefined;
    const uses = demand.rows.length === 0 ? undefined : yield* pack(demand, budget, options);
    if (uses === undefined) break;
    const left = [...demand.others, ...(yield* carryOut(pass, demand, uses))];
    const stuck = left.length === rest.length || left.length <= queued.length * TAIL_SHARE;
    rest = yield* inOrderInSteps(left);
    if (stuck) break;
  }
  return rest;
}

function leastCostOf(demand: Demand): number {
  const counts = demand.rows.map(({ count }) => count);
  return resourcePrices(demand, counts).leastCost;
}

/** Nodes that are there cost nothing: they are filled as the rules would fill them. */
function fitsExisting(pass: Pass, { pod, podClass }: QueuedPod): boolean {
  const variant = pass.classes.variant(podClass, 0);
  return variant !== undefined && onExistingNode(pass, pod, podClass, variant);
}

/** Whether it costs less, nodes' own cost included, and nobody is left out who had a place. */
function isBetter(
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
  const leftBefore = new Set(known.unschedulable.map(({ pod }) => keyOf(pod)));
  return found.unschedulable.every(({ pod }) => leftBefore.has(keyOf(pod)));
}

function isRelaxed(claim: SchedulingResult["newClaims"][number]): boolean {
  return claim.minValuesRelaxed;
}

export function priceMicroUsd({ newClaims }: SchedulingResult): number {
  return newClaims.reduce((sum, { cheapest }) => sum + cheapest.priceMicroUsd, 0);
}
