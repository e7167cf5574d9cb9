/**
 * Claims and instances that have lost each other. A claim without an instance goes once its Node is gone
 * or not Ready; an instance without a claim goes once it is old enough not to be one just launched.
 * upstream: pkg/controllers/nodeclaim/garbagecollection (core and AWS provider)
 */
import type { Node } from "../../apis/core/node.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";

/** An instance younger than this may belong to a claim whose status is on its way. */
const LEAK_GRACE_MS = 30_000;

export interface GarbageInput {
  readonly nowMs: number;
  readonly claims: readonly NodeClaim[];
  readonly nodes: readonly Node[];
  /** What the cloud says is there, as claims. */
  readonly instances: readonly NodeClaim[];
}

/** Registered claims whose instance the cloud does not know, unless their Node still reports Ready. */
export function orphanedClaims(input: GarbageInput): readonly NodeClaim[] {
  const alive = new Set(
    input.instances
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ status }) => status?.providerID),
  );
  const nodes = new Map(input.nodes.map((node) => [node.spec?.providerID, node]));
  return input.claims.filter((claim) => {
    if (claim.metadata.deletionTimestamp !== undefined || !isTrue(claim, "Registered"))
      return false;
    const providerId = claim.status?.providerID;
    if (providerId === undefined || alive.has(providerId)) return false;
    const ready = nodes.get(providerId)?.status?.conditions?.find(({ type }) => type === "Ready");
    return ready?.status !== "True";
  });
}

/**
 * Instances of this cluster that no claim names, nor will. One that was launched for a claim just before a
 * restart is given to that claim when it asks again, and may be older than the grace by then.
 */
export function leakedInstances(input: GarbageInput): readonly NodeClaim[] {
  const claimed = new Set(input.claims.map(({ status }) => status?.providerID));
  const waitingSinceMs = input.claims
    .filter(({ metadata, status }) => !metadata.deletionTimestamp && !status?.providerID)
    .map(({ metadata }) => fromRfc3339(metadata.creationTimestamp) ?? input.nowMs)
    .reduce((least, ms) => Math.min(least, ms), input.nowMs);
  return input.instances.filter((instance) => {
    if (instance.metadata.deletionTimestamp !== undefined) return false;
    const launchedMs = fromRfc3339(instance.metadata.creationTimestamp) ?? input.nowMs;
    if (input.nowMs - launchedMs < LEAK_GRACE_MS || waitingSinceMs <= launchedMs) return false;
    return !claimed.has(instance.status?.providerID);
  });
}
