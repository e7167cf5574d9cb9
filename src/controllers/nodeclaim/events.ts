/** Events about claims. upstream: pkg/controllers/nodeclaim/{lifecycle,consistency}/events.go */
import type { Node } from "../../apis/core/node.ts";
import { claimGeneration } from "../../apis/hub/claim.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events/events.ts";

const CHANGED_DEDUPE_MS = 10 * 60_000;

/** The event that the cloud had no capacity for the claim. `why`: the cloud's error. */
export function insufficientCapacity(claim: NodeClaim, why: string): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "InsufficientCapacityError",
    message: `NodeClaim ${claim.metadata.name} event: ${why}`,
    dedupeValues: [claim.metadata.name],
  };
}

/** The event that a launch took too long. karpenter-ts only; upstream only counts and logs it. */
export function launchTimedOut(claim: NodeClaim, timeout: string, why: string): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "LaunchTimeout",
    message: `Not launched within ${timeout}, its pods are planned anew: ${why}`,
    dedupeValues: [claim.metadata.name],
  };
}

/** The event that no Node registered for the claim in time. karpenter-ts only. */
export function registrationTimedOut(claim: NodeClaim, timeout: string): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "RegistrationTimeout",
    message: `Its node did not register within ${timeout}, its pods are planned anew`,
    dedupeValues: [claim.metadata.name],
  };
}

/**
 * Events that another program changed a claim, on the claim and its pool; karpenter-ts only. `parts`: what was changed,
 * such as `label team`.
 */
export function changedByOthers(
  claim: NodeClaim,
  pool: KubeObject | undefined,
  parts: string,
): readonly EventToPublish[] {
  const { claimNoun } = vocabulary(claimGeneration(claim));
  const message = `Another program, such as a mutating webhook, changed ${parts} of ${claimNoun} ${claim.metadata.name} after its creation. Karpenter puts labels back, and launches nothing for it while its node might not suit its pods. Let that program leave these parts as they are`;
  return [claim, ...(pool === undefined ? [] : [pool])].map((object) => ({
    object,
    type: "Warning",
    reason: "ChangedByOthers",
    message,
    dedupeValues: [object.metadata.name, parts],
    dedupeMs: CHANGED_DEDUPE_MS,
  }));
}

/**
 * Events that a node did not become initialized in time. Published on the claim and its pool, because the pool's next
 * nodes may fail the same way; karpenter-ts only.
 */
export function initializationTimedOut(
  claim: NodeClaim,
  pool: KubeObject | undefined,
  timeout: string,
  why: string,
): readonly EventToPublish[] {
  const { name } = claim.metadata;
  const { claimNoun } = vocabulary(claimGeneration(claim));
  const told = `registered, but was not usable within ${timeout}: ${why}`;
  const event = {
    type: "Warning",
    reason: "InitializationTimeout",
    dedupeValues: [name],
  } as const;
  const ofClaim = { ...event, object: claim, message: `Its node ${told}` };
  if (pool === undefined) return [ofClaim];
  return [ofClaim, { ...event, object: pool, message: `The node of ${claimNoun} ${name} ${told}` }];
}

/** The event that a Node joined without the taint `karpenter.sh/unregistered`. */
export function unregisteredTaintMissing(claim: NodeClaim): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "UnregisteredTaintMissing",
    message:
      "Missing karpenter.sh/unregistered taint which prevents registration related race conditions on Karpenter-managed nodes",
    dedupeValues: [claim.metadata.name],
  };
}

/** The event that the drain of a node has a deadline. Published on the claim and on its node. `at`: as RFC 3339. */
export function terminationGracePeriodExpiring(object: KubeObject, at: string): EventToPublish {
  return {
    object,
    type: "Warning",
    reason: "TerminationGracePeriodExpiring",
    message: `All pods will be deleted by ${at}`,
    dedupeValues: [object.metadata.name],
  };
}

/** Events that a node differs from its claim. Published on the claim; in v1alpha5 also on the Node. */
export function failedConsistencyCheck(
  claim: NodeClaim,
  node: Node,
  issue: string,
): readonly EventToPublish[] {
  const objects: readonly KubeObject[] =
    claimGeneration(claim) === "alpha" ? [node, claim] : [claim];
  return objects.map((object) => ({
    object,
    type: "Warning",
    reason: "FailedConsistencyCheck",
    message: issue,
    dedupeValues: [object.metadata.uid ?? object.metadata.name, issue],
  }));
}

const BOOT_DEDUPE_MS = 30 * 60_000;

/**
 * The event that a node has rebooted. Published once for each reboot. upstream:
 * pkg/controllers/nodeclaim/reboot/events.go
 */
export function rebootObserved(claim: KubeObject): EventToPublish {
  const message = "New boot observed (bootID changed); awaiting node readiness";
  return {
    object: claim,
    type: "Normal",
    reason: "RebootObserved",
    message,
    dedupeValues: [claim.metadata.uid ?? claim.metadata.name],
    dedupeMs: BOOT_DEDUPE_MS,
  };
}

/** The event that a reboot failed. The node is replaced, unless the request itself was invalid. */
export function rebootFailed(claim: KubeObject, message: string): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "RebootFailed",
    message,
    dedupeValues: [claim.metadata.uid ?? claim.metadata.name, message],
  };
}
