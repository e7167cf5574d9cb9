/**
 * Finds the place of one pod: an existing node, then a planned node, then a new node. If there is none, the pod drops
 * one preference and is tried again. `place` returns one of these outcomes:
 * - `placed`: a node takes the pod.
 * - `tryAgain`: the pod may get a place after other pods, for example by its pod affinity.
 * - `hopeless`: no other pod of this plan can help.
 * - `deferred`: the pod waits for a reservation, until the next pass.
 * upstream: pkg/controllers/provisioning/scheduling/scheduler.go
 */
import { intersectionOf, type Marks } from "../scheduling/bits.ts";
import type { PodClass, PodClasses, Variant } from "./batch/pod-class.ts";
import type { QueuedPod } from "./batch/queue.ts";
import { Attempt, type TriedPod } from "./feasibility/attempt.ts";
import { freeFirstPod, waitsForGroup } from "./nodes/affinity-groups.ts";
import type { ExistingNode } from "./nodes/existing-node.ts";
import { NewNodeClaim } from "./nodes/new-nodeclaim.ts";
import type { OpenClaims } from "./nodes/open-claims.ts";
import type { Fit, PlanningContext, Trial } from "./nodes/trial.ts";
import type { Template } from "./pools/pool-template.ts";
import { rankOf } from "./pools/rank.ts";
import { revisionOf } from "./topology/topology-group.ts";

/** The scheduling state on which one plan works. */
export interface Pass {
  readonly context: PlanningContext;
  readonly templates: readonly Template[];
  readonly nodes: readonly ExistingNode[];
  readonly classes: Pick<PodClasses, "variant">;
  readonly claims: OpenClaims;
  /** Called before an existing node gets a pod. Absent: changes are never undone. */
  readonly onTouch?: (node: ExistingNode) => void;
  /**
   * Whether this what-if question has left the node unchanged. Then the node's refusal is valid for all questions.
   * Absent: only one plan is made.
   */
  readonly isUntouched?: (node: ExistingNode) => boolean;
  /** Indices of existing nodes that may not take pods. Absent: all may. */
  readonly closed?: Marks | undefined;
  /** Cost of a node beyond its instance, in micro-dollars per hour. Absent: prices have no effect. */
  readonly nodeMicroUsd?: number | undefined;
}

/**
 * The value of `failedAt` for a class (pods that are equal for planning) that stays refused for the rest of the plan.
 */
const HOPELESS = Number.POSITIVE_INFINITY;

type Outcome = "placed" | "tryAgain" | "hopeless" | "deferred";

/** Tries the pod as written, then with one preference less each time. Places it as soon as a node takes it. */
export function place(pass: Pass, item: QueuedPod): Outcome {
  const { pod, podClass } = item;
  if (podClass.failedAt === HOPELESS) return "hopeless";
  if (isStuck(pass, podClass)) return podClass.deferred === undefined ? "tryAgain" : "deferred";
  if (waitsForGroup(podClass)) {
    podClass.failedAt = progressOf(pass, podClass);
    return "tryAgain";
  }
  let dependsOnOthers = false;
  for (let step = 0; ; step++) {
    const variant = pass.classes.variant(podClass, step);
    if (variant === undefined) break;
    const tried = { pod, podClass, variant };
    if (onExistingNode(pass, tried)) return "placed";
    const joins = pass.context.topology.haveUncounted(variant.narrowingRules);
    if (joins && onOpenClaim(pass, tried, "acceptsBeside")) return "placed";
    if (onOpenClaim(pass, tried)) return "placed";
    const outcome = onNewClaim(pass, tried);
    // A pod that waits for a reservation uses no other pool: the reservation may be free in the next pass.
    if (outcome === "deferred") podClass.failedAt = progressOf(pass, podClass);
    if (outcome !== "none") return outcome;
    dependsOnOthers ||= variant.rules.length > 0 || podClass.sharesClaims;
  }
  const spreading = podClass.variants.filter(({ narrowingRules }) => narrowingRules.length > 0);
  const isAhead = (variant: Variant) =>
    onOpenClaim(pass, { pod, podClass, variant }, "acceptsAhead");
  if (spreading.some(isAhead)) return "placed";
  if (freeFirstPod(podClass)) return place(pass, item);
  const mayHelp = dependsOnOthers || podClass.hasVolumes || podClass.claimsDevices;
  podClass.failedAt = mayHelp ? progressOf(pass, podClass) : HOPELESS;
  return dependsOnOthers ? "tryAgain" : "hopeless";
}

/**
 * Whether the class failed before, and nothing has changed since then that could help. Pods with volumes differ from
 * each other, so they are always tried.
 */
export function isStuck(pass: Pass, podClass: PodClass): boolean {
  const { failedAt, hasVolumes } = podClass;
  return failedAt >= 0 && !hasVolumes && failedAt === progressOf(pass, podClass);
}

/**
 * A number that grows whenever a class that failed may succeed now: a planned node was opened, a topology group of the
 * class counted a pod, or a shared resource claim got devices.
 */
function progressOf(pass: Pass, podClass: PodClass): number {
  let sum = pass.claims.size;
  if (podClass.sharesClaims) sum += pass.context.devices?.state.ledger.revision ?? 0;
  for (const { rules } of podClass.variants) sum += revisionOf(rules);
  return sum;
}

/** Places the pod on the first existing node that accepts it. False: no node does. */
export function onExistingNode(pass: Pass, tried: TriedPod): boolean {
  const { nodes, isUntouched, closed } = pass;
  const { deadNodes, ruledOut = deadNodes } = tried.variant;
  let attempt: Attempt | undefined;
  for (
    let index = deadNodes.firstMissing(0, ruledOut, closed);
    index < nodes.length;
    index = deadNodes.firstMissing(index + 1, ruledOut, closed)
  ) {
    const node = nodes[index] as ExistingNode;
    attempt ??= new Attempt(pass.context, tried);
    const verdict = node.accepts(attempt);
    if (verdict === "never") (isUntouched?.(node) ? ruledOut : deadNodes).add(index);
    if (verdict !== "yes") continue;
    addTo(node, pass, tried);
    return true;
  }
  return false;
}

/** Places a pod on an existing node that has accepted it. */
export function addTo(node: ExistingNode, pass: Pass, { pod, podClass }: QueuedPod): void {
  const { context, onTouch } = pass;
  onTouch?.(node);
  node.add(pod, podClass, context.devices);
  for (const group of podClass.countedBy) context.topology.count(group, node);
}

/** Places the pod on a planned node. `accepts`: the method of the planned node that checks the pod. */
function onOpenClaim(
  pass: Pass,
  tried: TriedPod,
  accepts: "accepts" | "acceptsBeside" | "acceptsAhead" = "accepts",
): boolean {
  const { pod, podClass, variant } = tried;
  const isByPrice = pass.nodeMicroUsd !== undefined;
  let best: { readonly claim: NewNodeClaim; readonly fit: Fit } | undefined;
  let leastRise = Number.POSITIVE_INFINITY;
  pass.claims.find(variant.closed, (claim) => {
    // `accepts` runs very often. It has a call of its own, because V8 compiles a call of one fixed method better.
    const trial =
      accepts === "accepts"
        ? claim.accepts(pod, podClass, variant)
        : claim[accepts](pod, podClass, variant);
    if (trial.verdict === "never") variant.deadClaims.add(claim.id);
    const { fit } = trial;
    if (fit === undefined) return trial.noneLikeIt === true ? "noneLikeIt" : "pass";
    const rise = isByPrice ? claim.priceWith(fit) - claim.price : 0;
    if (rise < leastRise) {
      leastRise = rise;
      best = { claim, fit };
    }
    return rise > 0 ? "pass" : "take";
  });
  if (best === undefined) return false;
  if (leastRise > 0 && priceOfNew(pass, tried) < leastRise) return false;
  const { claim, fit } = best;
  pass.claims.moveUp(claim, fit.set);
  claim.add(pod, podClass, fit);
  return true;
}

/** Price per hour of the node that {@link onNewClaim} would open. Infinite: it would open none. */
function priceOfNew(pass: Pass, tried: TriedPod): number {
  const opened = newFor(pass, tried);
  if (opened === undefined || opened === "deferred") return Number.POSITIVE_INFINITY;
  return opened.claim.priceWith(opened.fit) + (pass.nodeMicroUsd ?? 0);
}

/** A new planned node without pods. If prices count, it has no burstable types, whose price assumes CPU credits. */
function newClaim({ claims, context, nodeMicroUsd }: Pass, template: Template): NewNodeClaim {
  const { limitsLeft, table } = template;
  const steady = nodeMicroUsd === undefined ? undefined : table.steady;
  const types =
    steady === undefined ? limitsLeft.within : intersectionOf(limitsLeft.within, steady);
  return new NewNodeClaim(claims.size, template, types, context);
}

function onNewClaim(pass: Pass, tried: TriedPod): "placed" | "deferred" | "none" {
  const opened = newFor(pass, tried);
  if (opened === undefined) return "none";
  if (opened === "deferred") return opened;
  const { claim, fit } = opened;
  claim.add(tried.pod, tried.podClass, fit);
  pass.claims.open(claim);
  return "placed";
}

interface Opened {
  readonly claim: NewNodeClaim;
  readonly fit: Fit;
}

/**
 * A new node of the first pool that can launch one for the pod. If prices count: of the pools with that rank (weight),
 * the one where the node costs least. Undefined: no pool can.
 */
function newFor(pass: Pass, { pod, podClass, variant }: TriedPod): Opened | "deferred" | undefined {
  const { strictReservations } = pass.context;
  let best: Opened | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const template of pass.templates) {
    if (best !== undefined && rankOf(template.pool) < rankOf(best.claim.template.pool)) break;
    if (variant.deadTemplates.has(template.index)) continue;
    const claim = newClaim(pass, template);
    const trial: Trial = template.limitsLeft.exhausted
      ? { verdict: "never" }
      : claim.accepts(pod, podClass, variant);
    if (trial.deferred !== undefined && strictReservations) {
      podClass.deferred = trial.deferred;
      return "deferred";
    }
    if (trial.verdict === "never") variant.deadTemplates.add(template.index);
    if (trial.fit === undefined) continue;
    const found = { claim, fit: trial.fit };
    if (pass.nodeMicroUsd === undefined) return found;
    const price = claim.priceWith(trial.fit);
    if (price >= least) continue;
    least = price;
    best = found;
  }
  return best;
}
