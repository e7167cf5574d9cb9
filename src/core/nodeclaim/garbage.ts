/**
 * Finds claims without an instance and instances without a claim. Controllers delete such a claim once its Node is gone
 * or not Ready. They terminate such an instance once it is too old to be a new launch.
 * upstream: pkg/controllers/nodeclaim/garbagecollection (core and AWS provider)
 */
import { isReadyNode, type Node } from "../../apis/core/node.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { machineOf } from "../../apis/karpenter/provider-id.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { eachInSteps, filterInSteps, type Steps } from "../../base/steps.ts";

/** Instances younger than this are kept: they may belong to a claim whose status is not written yet. */
export const LEAK_GRACE_MS = 30_000;

/** Number of objects in one step. Each object takes one or two microseconds. */
const PER_STEP = 1_024;

/** The claims, Nodes and instances that are compared. */
export interface GarbageInput {
  readonly nowMs: number;
  readonly claims: readonly NodeClaim[];
  readonly nodes: readonly Node[];
  /** The instances that the cloud lists, as claims. */
  readonly instances: readonly NodeClaim[];
}

/** Registered claims whose instance the cloud does not list. A claim whose Node is still Ready is left out. */
export function* orphanedClaims(input: GarbageInput): Steps<readonly NodeClaim[]> {
  const alive = new Set<string>();
  yield* eachInSteps(input.instances, PER_STEP, ({ metadata, status }) => {
    if (metadata.deletionTimestamp === undefined) alive.add(machineOf(status?.providerID));
  });
  const lost = yield* filterInSteps(
    input.claims,
    PER_STEP,
    (claim) => isOrphan(claim) && !alive.has(machineOf(claim.status?.providerID)),
  );
  if (lost.length === 0) return lost;
  const nodes = new Map<string, Node>();
  yield* eachInSteps(input.nodes, PER_STEP, (node) => {
    nodes.set(machineOf(node.spec?.providerID), node);
  });
  return lost.filter((claim) => {
    const node = nodes.get(machineOf(claim.status?.providerID));
    return node === undefined || !isReadyNode(node);
  });
}

/** Whether the claim is registered, has a provider id, and is not being deleted. */
function isOrphan(claim: NodeClaim): boolean {
  const isActive = claim.metadata.deletionTimestamp === undefined && isTrue(claim, "Registered");
  return isActive && claim.status?.providerID !== undefined;
}

/**
 * Whether a claim that was found without an instance must still be deleted. `claim` and `nodes`: the claim and its
 * Nodes as they are now. Undefined: the claim is gone.
 */
export function isStillOrphan(
  found: NodeClaim,
  claim: NodeClaim | undefined,
  nodes: readonly Node[],
): boolean {
  if (claim === undefined || claim.metadata.uid !== found.metadata.uid) return false;
  return isOrphan(claim) && !nodes.some(isReadyNode);
}

/**
 * Instances that no claim names and that no claim can still take over. A claim takes over the instance that was
 * launched for it, even after a restart. So while a claim without an instance exists, instances that were launched
 * after its creation are kept.
 */
export function* leakedInstances(input: GarbageInput): Steps<readonly NodeClaim[]> {
  const claimed = new Set<string>();
  let waitingSinceMs = input.nowMs;
  yield* eachInSteps(input.claims, PER_STEP, ({ metadata, status }) => {
    claimed.add(machineOf(status?.providerID));
    if (metadata.deletionTimestamp || status?.providerID) return;
    const sinceMs = fromRfc3339(metadata.creationTimestamp) ?? input.nowMs;
    waitingSinceMs = Math.min(waitingSinceMs, sinceMs);
  });
  return yield* filterInSteps(input.instances, PER_STEP, (instance) => {
    if (instance.metadata.deletionTimestamp !== undefined) return false;
    const launchedMs = fromRfc3339(instance.metadata.creationTimestamp) ?? input.nowMs;
    if (input.nowMs - launchedMs < LEAK_GRACE_MS || waitingSinceMs <= launchedMs) return false;
    return !claimed.has(machineOf(instance.status?.providerID));
  });
}
