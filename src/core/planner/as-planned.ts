/** Repeats nodes of a plan in a new plan of the same batch, for improvements that drop or change one node. */
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { QueuedPod } from "../provisioning/batch/queue.ts";
import { NewNodeClaim } from "../provisioning/nodes/new-nodeclaim.ts";
import { onExistingNode, type Pass } from "../provisioning/place.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import { type Batch, planByCheapestNode } from "../provisioning/solve.ts";
import type { RequirementSpace, SetId } from "../scheduling/requirement-space.ts";
import { typesFor } from "./packing/place-packed.ts";

/** What a plan loses compared with the plan that it repeats. */
interface Kept {
  /** Whether a pod that must have a place got none. If so, no further pod is placed. */
  isLost: boolean;
  preferencesGivenUp: number;
}

/** A plan that repeats the nodes of another one. */
export interface Repeated {
  readonly result: SchedulingResult;
  readonly preferencesGivenUp: number;
}

/**
 * Places the pods of `claims` on new nodes of the same kind, and other pods on existing nodes. Returns the pods without
 * a place, in order. With `kept`, it stops after the first pod of `claims` without a place.
 */
export function* asPlanned(
  pass: Pass,
  queued: readonly QueuedPod[],
  claims: readonly PlannedClaim[],
  kept?: Kept,
): Steps<readonly QueuedPod[]> {
  const claimOf = new Map(
    claims.flatMap((claim) => claim.pods.map((pod) => [pod, claim] as const)),
  );
  const opened = new Map<PlannedClaim, NewNodeClaim>();
  const rest: QueuedPod[] = [];
  yield* eachInSteps(queued, (item) => {
    if (kept?.isLost === true) return;
    const planned = claimOf.get(item.pod);
    const isPlaced =
      planned === undefined
        ? placeOnExisting(pass, item)
        : placeOn(planned, item, { pass, opened, kept });
    if (isPlaced) return;
    rest.push(item);
    if (kept !== undefined) kept.isLost ||= planned !== undefined;
  });
  return rest;
}

/** A plan whose new nodes are `claims`. Undefined: a pod loses the place that it has in `claims` or `known`. */
export function* withNodes(
  batch: Batch,
  known: SchedulingResult,
  claims: readonly PlannedClaim[],
): Steps<Repeated | undefined> {
  const left = new Set(known.unschedulable.map(({ pod }) => pod));
  const kept: Kept = { isLost: false, preferencesGivenUp: 0 };
  const result = yield* planByCheapestNode(batch, 0, function* (pass, queued) {
    const rest = yield* asPlanned(pass, queued, claims, kept);
    kept.isLost ||= rest.some(({ pod }) => !left.has(pod));
    return kept.isLost ? [] : rest;
  });
  if (kept.isLost) return undefined;
  return { result, preferencesGivenUp: kept.preferencesGivenUp };
}

/** Places the pod on an existing node that meets all its preferences. False: there is none. */
export function placeOnExisting(pass: Pass, { pod, podClass }: QueuedPod): boolean {
  const variant = pass.classes.variant(podClass, 0);
  return variant !== undefined && onExistingNode(pass, { pod, podClass, variant });
}

interface Repeating {
  readonly pass: Pass;
  /** The new nodes so far, by the planned node that each one repeats. */
  readonly opened: Map<PlannedClaim, NewNodeClaim>;
  readonly kept: Kept | undefined;
}

/** Places the pod on the new node that repeats `planned`. Drops preferences until the node accepts the pod. */
function placeOn(
  planned: PlannedClaim,
  { pod, podClass }: QueuedPod,
  { pass, opened, kept }: Repeating,
): boolean {
  const known = opened.get(planned);
  const claim = known ?? nodeLike(pass, planned);
  if (claim === undefined) return false;
  for (let step = 0; ; step++) {
    const variant = pass.classes.variant(podClass, step);
    if (variant === undefined) return false;
    const { fit } = claim.accepts(pod, podClass, variant);
    if (fit === undefined) continue;
    if (known !== undefined) pass.claims.moveUp(claim, fit.set);
    claim.add(pod, podClass, fit);
    if (kept !== undefined) kept.preferencesGivenUp += step;
    if (known === undefined) {
      pass.claims.open(claim);
      opened.set(planned, claim);
    }
    return true;
  }
}

/** An empty node with the planned labels, because topology spread depends on labels. Undefined: none is possible. */
function nodeLike(
  { templates, claims, context }: Pass,
  { pool, cheapest, requirements }: PlannedClaim,
): NewNodeClaim | undefined {
  const template = templates.find((one) => one.pool.id === pool.id);
  if (template === undefined || template.limitsLeft.exhausted) return undefined;
  const type = template.table.types.findIndex(({ name }) => name === cheapest.instanceType);
  const types = typesFor({ template, type }, template.limitsLeft.within);
  const claim = new NewNodeClaim(claims.size, template, types, context);
  const set = setAsPlanned(context.space, template.set, requirements);
  if (set === undefined) return undefined;
  claim.set = set;
  return claim;
}

/** The NodePool's requirements, with each label fixed that `requirements` fixes. Undefined: they contradict. */
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

/** Whether the cheapest instance type is burstable. A plan must not count on its CPU credits, which run out. */
export function isBurstable({ instanceTypes: [cheapest] }: PlannedClaim): boolean {
  return cheapest?.baseline !== undefined;
}
