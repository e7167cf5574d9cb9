/**
 * Finds claims without an instance and instances without a claim. The claim is deleted once its Node is gone or not
 * Ready. The instance is terminated once it is too old to be a new launch.
 * upstream: pkg/controllers/nodeclaim/garbagecollection (core and AWS provider)
 */
import type { Node } from "../../apis/core/node.ts";
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

/** Registered claims whose instance the cloud does not list. A claim is left out while its Node still reports Ready. */
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
  return lost.filter((claim) => !saysReady(nodes.get(machineOf(claim.status?.providerID))));
}

/** Whether the claim is registered, has a provider id, and is not being deleted. */
function isOrphan(claim: NodeClaim): boolean {
  const isThere = claim.metadata.deletionTimestamp === undefined && isTrue(claim, "Registered");
  return isThere && claim.status?.providerID !== undefined;
}

function saysReady(node: Node | undefined): boolean {
  return node?.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
}

/** Whether a claim that was found without an instance must still be deleted, given the current claim and its Nodes. */
export function isStillOrphan(
  found: NodeClaim,
  claim: NodeClaim | undefined,
  nodes: readonly Node[],
): boolean {
  if (claim === undefined || claim.metadata.uid !== found.metadata.uid) return false;
  return isOrphan(claim) && !nodes.some(saysReady);
}

/**
 * Instances of this cluster that no claim names or will name. After a restart, a claim may still take over the instance
 * that was launched for it, even if that is older than the grace period.
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
