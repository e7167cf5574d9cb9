/**
 * Repairs a plan: one node of it is given up, and its pods go where the others' prices rise least. Greed, by rules or
 * by patterns, ends with nodes for what was left over, though there is room elsewhere by then.
 */
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { QueuedPod } from "../provisioning/batch/queue.ts";
import { NewNodeClaim } from "../provisioning/nodes/new-nodeclaim.ts";
import { onExistingNode, type Pass } from "../provisioning/place.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import { type Batch, planByThrift } from "../provisioning/solve.ts";
import type { RequirementSpace, SetId } from "../scheduling/requirement-space.ts";
import { isBetter } from "./better.ts";
import { typesFor } from "./carry-out.ts";
import type { PlannerOptions } from "./planner-options.ts";

/** Each is a plan of the whole batch. */
const MOST_TRIED = 8;
const PODS_PER_STEP = 64;

/** The plan, or a cheaper one of the same batch that leaves nobody else out. */
export function* repaired(
  batch: Batch,
  plan: SchedulingResult,
  options: PlannerOptions,
): Steps<SchedulingResult> {
  // Whoever joined the pods of a burstable type might live on credits.
  if (plan.newClaims.some(isBurstable)) return plan;
  let best = plan;
  const tried = new Set<PlannedClaim["pods"][number]>();
  for (let tries = 0; tries < MOST_TRIED && best.newClaims.length > 1; tries++) {
    const given = leastOf(best.newClaims.filter(({ pods: [first] }) => first && !tried.has(first)));
    if (given === undefined) break;
    tried.add(given.pods[0] as PlannedClaim["pods"][number]);
    const kept = best.newClaims.filter((claim) => claim !== given);
    const other = yield* planByThrift(batch, options.nodeMicroUsdPerHour, (pass, queued) =>
      asPlanned(pass, queued, kept),
    );
    if (isBetter(other, best, { ...options, minSaving: 0 })) best = other;
  }
  return isBetter(best, plan, options) ? best : plan;
}

/** Whether its machine would be one of those that live on credits. */
export function isBurstable({ instanceTypes: [cheapest] }: PlannedClaim): boolean {
  return cheapest?.baseline !== undefined;
}

/** The one with fewest pods: these find room most easily. Of equals the dearest. */
function leastOf(claims: readonly PlannedClaim[]): PlannedClaim | undefined {
  const [least] = claims.toSorted(
    (a, b) => a.pods.length - b.pods.length || b.cheapest.priceMicroUsd - a.cheapest.priceMicroUsd,
  );
  return least;
}

/** For whom a plan is of no use once a pod of its nodes has lost its place: then no others are put anywhere. */
interface Kept {
  isLost: boolean;
  /** So many wishes were given up. */
  givenUp: number;
}

/** Puts the pods of these nodes on nodes like them, as far as the rules allow. Returns all others, in order. */
function* asPlanned(
  pass: Pass,
  queued: readonly QueuedPod[],
  claims: readonly PlannedClaim[],
  kept?: Kept,
): Steps<readonly QueuedPod[]> {
  const homes = new Map(claims.flatMap((claim) => claim.pods.map((pod) => [pod, claim] as const)));
  const opened = new Map<PlannedClaim, NewNodeClaim>();
  const rest: QueuedPod[] = [];
  yield* eachInSteps(queued, PODS_PER_STEP, (item) => {
    if (kept?.isLost === true) return;
    const home = homes.get(item.pod);
    const isPlaced =
      home === undefined ? fitsExisting(pass, item) : goes(pass, item, home, opened, kept);
    if (isPlaced) return;
    rest.push(item);
    if (kept !== undefined) kept.isLost ||= home !== undefined;
  });
  return rest;
}

/** Undefined: not all of its pods come to these nodes. */
export function* withNodes(
  batch: Batch,
  { unschedulable }: SchedulingResult,
  claims: readonly PlannedClaim[],
): Steps<{ readonly result: SchedulingResult; readonly givenUp: number } | undefined> {
  const left = new Set(unschedulable.map(({ pod }) => pod));
  const kept: Kept = { isLost: false, givenUp: 0 };
  const result = yield* planByThrift(batch, 0, function* (pass, queued) {
    const rest = yield* asPlanned(pass, queued, claims, kept);
    kept.isLost ||= rest.some(({ pod }) => !left.has(pod));
    return kept.isLost ? [] : rest;
  });
  return kept.isLost ? undefined : { result, givenUp: kept.givenUp };
}

/** Nodes that are there cost nothing: they are filled as the rules would fill them. */
export function fitsExisting(pass: Pass, { pod, podClass }: QueuedPod): boolean {
  const variant = pass.classes.variant(podClass, 0);
  return variant !== undefined && onExistingNode(pass, pod, podClass, variant);
}

/** With as few of its wishes given up as it may. */
function goes(
  pass: Pass,
  { pod, podClass }: QueuedPod,
  home: PlannedClaim,
  opened: Map<PlannedClaim, NewNodeClaim>,
  kept: Kept | undefined,
): boolean {
  const known = opened.get(home);
  const claim = known ?? likeIt(pass, home);
  if (claim === undefined) return false;
  for (let step = 0; ; step++) {
    const variant = pass.classes.variant(podClass, step);
    if (variant === undefined) return false;
    const { fit } = claim.accepts(pod, podClass, variant);
    if (fit === undefined) continue;
    if (known !== undefined) pass.claims.moveUp(claim, fit.set);
    claim.add(pod, podClass, fit);
    if (kept !== undefined) kept.givenUp += step;
    if (known === undefined) {
      pass.claims.open(claim);
      opened.set(home, claim);
    }
    return true;
  }
}

/**
 * Nothing is on it yet; but it is where the planned one is, for pods that are spread look at that. Undefined: the
 * pool's limits allow no such node any more.
 */
function likeIt(
  { templates, claims, context }: Pass,
  { pool, cheapest, requirements }: PlannedClaim,
): NewNodeClaim | undefined {
  const template = templates.find((one) => one.pool.id === pool.id);
  if (template === undefined || template.budget.exhausted) return undefined;
  const type = template.table.types.findIndex(({ name }) => name === cheapest.instanceType);
  const types = typesFor({ template, type }, template.budget.within);
  const claim = new NewNodeClaim(claims.size, template, types, context);
  const set = setAsPlanned(context.space, template.set, requirements);
  if (set === undefined) return undefined;
  claim.set = set;
  return claim;
}

/** A node of the pool with the labels that these settle. Undefined: there is none. */
export function setAsPlanned(
  space: RequirementSpace,
  ofPool: SetId,
  requirements: PlannedClaim["requirements"],
): SetId | undefined {
  let set: SetId | undefined = ofPool;
  for (const { key, operator, values = [] } of requirements) {
    if (operator !== "In" || values.length !== 1) continue;
    set = space.narrow(set, key, values);
    if (set === undefined) return undefined;
  }
  return set;
}
