/**
 * Repeats nodes of a plan in another plan of the same batch: the same pods on a node of the same kind, as far as the
 * rules allow. An improvement drops or changes one node of a plan, and repeats the others.
 */
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
  /**
   * Whether a pod got no place that must have one, such as a pod of a repeated node. If so, no further pod is placed.
   */
  isLost: boolean;
  preferencesGivenUp: number;
}

/** A plan that repeats the nodes of another one. */
export interface Repeated {
  readonly result: SchedulingResult;
  readonly preferencesGivenUp: number;
}

/**
 * Places the pods of these planned nodes on new nodes of the same kind, and other pods on existing nodes. Returns the
 * pods that have no place, in order. `kept`: passed by callers that need every planned node. After the first lost pod,
 * no further pod is placed.
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

/**
 * A plan with `claims` as its new nodes. Undefined: a pod does not fit on its node of `claims`, or another pod has no
 * place now and had one in `known`.
 */
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

/**
 * Places the pod on an existing node that meets all its preferences. False: no existing node does, and the pod is not
 * placed.
 */
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

/**
 * Places the pod on the new node that repeats `planned`, the pod's planned node. Drops preferences one by one until the
 * node accepts the pod. False: it never does.
 */
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

/**
 * An empty node with the same labels as the planned one, because topology spread depends on labels. Undefined: the
 * NodePool is not in this batch, its limits are used up, or no node can have these labels.
 */
function nodeLike(
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

/**
 * The NodePool's requirements, with each label fixed to its value if `requirements` allow only one. Undefined: no node
 * can have all these labels.
 */
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

/**
 * Whether the node's cheapest instance type is burstable. Such a type is cheap because it runs above its baseline cpu
 * only while it has CPU credits. A plan must not count on credits.
 */
export function isBurstable({ instanceTypes: [cheapest] }: PlannedClaim): boolean {
  return cheapest?.baseline !== undefined;
}
