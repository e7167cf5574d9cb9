/**
 * The planner: the rules make one plan, a packing by price another, upstream's rules to the letter a third, the rules
 * by thrift a fourth, and the cheapest is taken that places no pod less and gives heavier pools no fewer, repaired where
 * one of its nodes can be done without or costs less elsewhere; of a small batch the third also where it places more.
 * Where pods that must share a host were left, all of it is done once more with them ahead. So no batch ever costs more
 * than it would by the rules alone, unless more pods come for it, and every plan is one that the engine itself allows.
 */

import { atOnce, eachInSteps, filterInSteps, type Steps } from "../../base/steps.ts";
import type { PodClass } from "../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../provisioning/batch/queue.ts";
import type { OpenClaims } from "../provisioning/nodes/open-claims.ts";
import type { Pass } from "../provisioning/place.ts";
import { PriceFloor } from "../provisioning/pools/price-floor.ts";
import { rankOf } from "../provisioning/pools/rank.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import {
  type Batch,
  importantPodsFirst,
  planAsUpstream,
  planByThrift,
  planOf,
  planUntil,
  prepare,
  wholePlan,
} from "../provisioning/solve.ts";
import { kindsOf } from "../provisioning/together.ts";
import { isBetter, isRelaxed, placesMore, priceMicroUsd } from "./better.ts";
import { carryOut } from "./carry-out.ts";
import { requestsOf } from "./class-requests.ts";
import { type Demand, demandOf } from "./demand.ts";
import { countDivided } from "./domains.ts";
import { betterDivided } from "./exchange.ts";
import { inAllZones, withFewerZones } from "./fewer-zones.ts";
import { leastHosts } from "./least-hosts.ts";
import { LeastSoFar } from "./least-so-far.ts";
import { limitCost } from "./limit-cost.ts";
import { pack } from "./pack.ts";
import type { PlannerOptions } from "./planner-options.ts";
import { fitsExisting, repaired } from "./repair.ts";
import { resettled } from "./resettle.ts";
import { strandingNodes, strandsMore } from "./stranding.ts";
import { isTail, placeTail } from "./tail.ts";

/** Plans one batch, as `solve` does and under the same promises. */
export function planBatch(input: SchedulingInput, options: PlannerOptions): SchedulingResult {
  return atOnce(planBatchInSteps(input, options));
}

/** As {@link planBatch}, for whoever has other things to do in between. */
export function* planBatchInSteps(
  input: SchedulingInput,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  return yield* importantPodsFirst(input, function* (all) {
    const batch = yield* prepare(all);
    yield;
    const plan = function* (one: Batch) {
      return yield* orTogether(one, yield* bestPlan(one, options), options);
    };
    const result = yield* plan(batch);
    const cost =
      batch.queued.length > MOST_PLANNED_ANEW ? undefined : yield* limitCost(batch, result, plan);
    const whole = yield* wholePlan(batch, yield* withOrder(batch, result, options));
    return cost === undefined ? whole : { ...whole, limitCost: cost };
  });
}

/** The plan, and which of its nodes are better filled last. Large batches are not looked at: it takes its time. */
function* withOrder(
  batch: Batch,
  plan: SchedulingResult,
  { policy }: PlannerOptions,
): Steps<SchedulingResult> {
  const { newClaims } = plan;
  if (policy === "greedy" || newClaims.length < 2 || batch.queued.length > MOST_PLANNED_ANEW)
    return plan;
  const last = yield* strandingNodes(batch, plan);
  if (last.size === 0) return plan;
  const ordered = newClaims.map((claim) =>
    last.has(claim) ? { ...claim, fillsLast: true as const } : claim,
  );
  return { ...plan, newClaims: ordered };
}

/**
 * The plan; or, where some were left who must share a host, the best with their kinds ahead of all others, if more find
 * a place by that.
 */
function* orTogether(
  batch: Batch,
  best: SchedulingResult,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  if (options.policy === "greedy") return best;
  const left = new Set(best.unschedulable.map(({ pod }) => pod));
  const together = yield* kindsOf(batch.queued, left);
  if (together.size === 0) return best;
  const ahead = { ...batch, together };
  // Mostly they fit nowhere together: one plan tells, and each pass finds them again.
  if (!placesMore(yield* planOf(ahead), best)) return best;
  const other = yield* bestPlan(ahead, options);
  return placesMore(other, best) ? other : best;
}

function* bestPlan(batch: Batch, options: PlannerOptions): Steps<SchedulingResult> {
  if (!mayBePacked(batch, options)) return yield* orAnother(batch, yield* planOf(batch), options);
  const race = yield* raceOf(batch, options);
  const byRules = yield* race === undefined ? planOf(batch) : planUntil(batch, race.isLost);
  if (byRules?.newClaims.length === 0) return yield* orAnother(batch, byRules, options);
  if (byRules !== undefined && leavesNothingToSave(batch, byRules, options)) return byRules;
  let demand = race?.demand;
  const byPrice = yield* planOf(batch, (pass, queued) => {
    const ofAll = demand;
    // A packing takes the pods out of it.
    demand = undefined;
    return packFirst(pass, queued, options, undefined, ofAll);
  });
  if (byRules === undefined && race?.isWonBy(byPrice) === true)
    return yield* orAnother(batch, byPrice, options);
  const known = byRules ?? (yield* planOf(batch));
  const best = isBetter(byPrice, known, options) ? byPrice : known;
  return yield* orAnother(batch, best, options);
}

/** Larger ones differ by luck, which evens out, and planning them once more takes its time. */
const MOST_PLANNED_ANEW = 500;

/**
 * The plan, or another where that one is cheaper: upstream's to the letter (also where it places others besides),
 * the rules by thrift, and what repairs make of the best.
 */
function* orAnother(
  batch: Batch,
  best: SchedulingResult,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  const isLarge = batch.queued.length > MOST_PLANNED_ANEW;
  const needsNothing = best.newClaims.length + best.unschedulable.length === 0;
  if (options.policy === "greedy" || isLarge || needsNothing) return best;
  const rulesOrBest = yield* orAsUpstream(batch, best, options);
  if (rulesOrBest.newClaims.length === 0) return rulesOrBest;
  // What a promised reservation saves is no rise of a price; and pods that are to stay in their zones would not.
  if (hasReservations(batch) || options.domainNow !== undefined) return rulesOrBest;
  return yield* resettled(batch, yield* orRearranged(batch, rulesOrBest, options), options);
}

function* orRearranged(
  batch: Batch,
  best: SchedulingResult,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  if (mayBePacked(batch, options))
    return yield* repaired(batch, yield* orByThrift(batch, best, options), options);
  const minSaving = Math.max(GROSS, options.minSaving);
  return yield* orByThrift(batch, best, { ...options, minSaving });
}

/**
 * Of batches that are the rules': so much less is no packing that the rules miss, but a mistake of theirs, such as a
 * large node that one pod's wish makes a dear one.
 */
const GROSS = 0.25;

function* orByThrift(
  batch: Batch,
  best: SchedulingResult,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  if (batch.queued.length < 2) return best;
  const first = yield* planByThrift(batch, options.nodeMicroUsdPerHour);
  let found = (yield* savesSafely(batch, best, first, options)) ? first : best;
  for (const fewer of withFewerZones(batch, first)) {
    const other = yield* planByThrift(fewer, options.nodeMicroUsdPerHour);
    if (found !== best && !isBetter(other, found, { ...options, minSaving: 0 })) continue;
    if (yield* savesSafely(batch, best, other, options)) found = other;
  }
  if (found === first || found === best) return found;
  const open = yield* inAllZones(batch, found);
  return (yield* savesSafely(batch, best, open, options)) ? open : found;
}

/** Enough; and more than what may have to be launched for pods that lose their room to others. */
function* savesSafely(
  batch: Batch,
  best: SchedulingResult,
  other: SchedulingResult,
  options: PlannerOptions,
): Steps<boolean> {
  return isBetter(other, best, options) && !(yield* strandsMore(batch, other, best, options));
}

function* orAsUpstream(
  batch: Batch,
  best: SchedulingResult,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  const other = yield* planAsUpstream(batch);
  if (other === undefined) return best;
  const isTaken = placesMore(other, best) || isBetter(other, best, { ...options, minSaving: 0 });
  return isTaken ? other : best;
}

/** So many of the least number of pods are enough if they are spread over zones: there the rules cost most. */
const MIN_DIVIDED = 0.2;

function mayBePacked(batch: Batch, options: PlannerOptions): boolean {
  const { queued, classes } = batch;
  const { policy, minPods } = options;
  if (policy === "greedy") return false;
  // Each unit of a reservation can be promised once: the rules keep that count.
  if (hasReservations(batch)) return false;
  if (queued.length >= minPods) return true;
  return countDivided(queued, classes) >= Math.max(1, minPods * MIN_DIVIDED);
}

function hasReservations({ base }: Batch): boolean {
  return base.templates.some(({ table }) => table.offerings.hasReserved);
}

/** The rules are made to their end only while they may still be the cheaper ones. */
interface Race {
  /** Whether what they plan so far costs about as much as a packing would of all pods. */
  readonly isLost: (claims: OpenClaims) => boolean;
  /** Whether it is certain by then that the rules' plan would not have been taken. */
  readonly isWonBy: (byPrice: SchedulingResult) => boolean;
  /** Of all pods. A packing takes the pods out of it. */
  readonly demand: Demand;
}

/** A packing is expected to cost no more than this times what it costs at the least. */
const EXPECTED = 1.1;

/**
 * Undefined: with pods ahead the packing is of fewer; among pods that are not equally important the rules may
 * change their mind; with nodes that are there it is not known beforehand how many pods will need new ones; and of pools
 * that differ in rank it is only known in the end how many pods the higher ones get.
 */
function* raceOf(
  { base, queued, isOfOnePriority, together }: Batch,
  { nodeMicroUsdPerHour, minSaving, ...options }: PlannerOptions,
): Steps<Race | undefined> {
  const { templates, context, classes } = base;
  if (
    together !== undefined ||
    !isOfOnePriority ||
    base.nodes.length > 0 ||
    !areOfOneRank(templates)
  )
    return undefined;
  const demand = yield* demandOf(base, queued, { nodeMicroUsdPerHour, ...options });
  const expected = demand.worth.leastCost * EXPECTED;
  const hosts = leastHosts(classes, templates, demand.rows, queued.length);
  const soFar = new LeastSoFar(templates, new PriceFloor(templates, context.space), hosts);
  let [least, nodes] = [0, 0];
  const beats = (price: number, size: number) =>
    price < least && price + (size - nodes) * nodeMicroUsdPerHour <= least * (1 - minSaving);
  return {
    isLost: ({ all }) => {
      [least, nodes] = [soFar.of(all), soFar.nodes(all)];
      return beats(expected, 0);
    },
    isWonBy: (byPrice) =>
      beats(priceMicroUsd(byPrice), byPrice.newClaims.length) &&
      !byPrice.newClaims.some(isRelaxed) &&
      byPrice.unschedulable.length === 0,
    demand,
  };
}

function areOfOneRank(templates: Batch["base"]["templates"]): boolean {
  return new Set(templates.map(({ pool }) => rankOf(pool))).size <= 1;
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
  const least = new PriceFloor(base.templates, base.context.space).least(requestsOf(counts));
  const fewerNodes = (newClaims.length - 1) * nodeMicroUsdPerHour;
  return least - fewerNodes > priceMicroUsd(byRules) * (1 - minSaving);
}

/** How often what a round could not place is packed anew. */
const ROUNDS = 3;
const TRIES_PER_STEP = 64;
/** Of those that are only looked at. */
const PODS_PER_STEP = 8_192;

/**
 * Places what it can and returns the rest, in order; undefined: the new nodes that it takes cost more than
 * `mostMicroUsd` an hour whatever the plan, what nodes cost beyond their machines included. `ofAll`: the
 * demand of all that is queued, if it is known.
 */
export function packFirst(
  pass: Pass,
  queued: readonly QueuedPod[],
  options: PlannerOptions,
  mostMicroUsd?: undefined,
  ofAll?: Demand,
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
  ofAll?: Demand,
): Steps<readonly QueuedPod[] | undefined> {
  const budget = { units: options.baseWork };
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
    const isKnown = rest === queued && ofAll !== undefined;
    const demand = isKnown ? ofAll : yield* demandOf(pass, rest, options);
    const packed = rest.length - demand.others.length;
    if (round === 0) budget.units = Math.max(budget.units, options.workPerPod * packed);
    const isCapped = round === 0 && mostMicroUsd < Number.POSITIVE_INFINITY;
    if (isCapped && demand.worth.leastCost > mostMicroUsd) return undefined;
    const { rows, worth } = demand;
    const uses = rows.length === 0 ? undefined : yield* pack(demand, worth, budget, options);
    if (uses === undefined) break;
    const divided = { demand, uses };
    const best = round === 0 ? yield* betterDivided(divided, options) : divided;
    const left = new Set(demand.others);
    for (const item of yield* carryOut(pass, best.demand, best.uses)) left.add(item);
    const stuck = left.size === rest.length || isTail(pass, left.size, queued.length);
    // In the order in which they came.
    rest = yield* filterInSteps(rest, PODS_PER_STEP, (item) => left.has(item));
    if (stuck) break;
  }
  return yield* placeTail(pass, rest, queued.length, options.nodeMicroUsdPerHour);
}
