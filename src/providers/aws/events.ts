/** Events of node classes, and of claims about EC2. upstream: pkg/cloudprovider/events, pkg/controllers/nodeclass */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events/events.ts";

/** How often the same event is published while its cause lasts. */
const TELL_AGAIN_MS = 60 * 60_000;
/** While EC2 does not answer, this event concerns every claim. So it is published slowly. */
const UNPROVEN_RATE = { perSecond: 1, burst: 20 };

/** Says that the node class of a claim does not exist or is being deleted. */
export function nodeClassNotFound(claim: NodeClaim): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "NodeClassNotFound",
    message: "Failed resolving NodeClass",
    dedupeValues: [claim.metadata.uid ?? claim.metadata.name],
  };
}

/** Says on a claim that the account lacks the role that spot instances need. */
export function spotRoleMissing(claim: NodeClaim): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "SpotSLRCreationFailed",
    message:
      'Attempted to launch a spot instance but failed due to "AuthFailure.ServiceLinkedRoleCreationNotPermitted"; none is asked for in the next minutes. Create the role: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com',
    dedupeValues: [claim.metadata.uid ?? claim.metadata.name],
  };
}

/** Says that no instance can be launched from a class. `why` includes the remedy. */
export function nodeClassNotReady(nodeClass: KubeObject, why: string): EventToPublish {
  return {
    object: nodeClass,
    type: "Warning",
    reason: "NodeClassNotReady",
    message: `Nothing is launched from this ${nodeClass.kind}: ${why}`,
    dedupeValues: [nodeClass.metadata.uid ?? nodeClass.metadata.name, why],
  };
}

/** Says that a class that is being deleted waits for the claims that name it. */
export function waitingOnNodeClaims(
  nodeClass: KubeObject,
  names: readonly string[],
): EventToPublish {
  return {
    object: nodeClass,
    type: "Normal",
    reason: "WaitingOnNodeClaimTermination",
    message: `Waiting on NodeClaim termination for ${pretty(names)}`,
  };
}

/** Says that a class that is being deleted waits for instances without a NodeClaim that use its instance profile. */
export function waitingOnInstances(nodeClass: KubeObject, ids: readonly string[]): EventToPublish {
  return {
    object: nodeClass,
    type: "Warning",
    reason: "WaitingOnInstanceTermination",
    message: `Not deleted yet, because instances use its instance profile: ${pretty(ids)}. Terminate them, or wait until they are gone`,
    dedupeValues: [nodeClass.metadata.uid ?? nodeClass.metadata.name, ...ids],
  };
}

/** Says that AWS does not allow deleting the instance profile or launch templates of a class. */
export function deletionFailed(nodeClass: KubeObject, why: string): EventToPublish {
  return {
    object: nodeClass,
    type: "Warning",
    reason: "DeletionFailed",
    message: `Not deleted yet, because its instance profile or launch templates cannot be deleted: ${why}`,
    dedupeValues: [nodeClass.metadata.uid ?? nodeClass.metadata.name, why],
  };
}

/** Says that a zonal shift began in a zone where the pool could launch. */
export function zonalShiftActive(pool: KubeObject, zone: string, zoneId: string): EventToPublish {
  return {
    object: pool,
    type: "Warning",
    reason: "ZonalShiftActive",
    message: `Zonal shift detected: offerings in zone ${zone} (${zoneId}) are unavailable for this NodePool`,
    dedupeValues: [pool.metadata.uid ?? pool.metadata.name, zoneId],
  };
}

/** Says that a zonal shift is over. */
export function zonalShiftCleared(pool: KubeObject, zone: string, zoneId: string): EventToPublish {
  return {
    object: pool,
    type: "Normal",
    reason: "ZonalShiftCleared",
    message: `Zonal shift cleared: offerings in zone ${zone} (${zoneId}) are restored for this NodePool`,
    dedupeValues: [pool.metadata.uid ?? pool.metadata.name, zoneId],
  };
}

/** Says that a vCPU quota of the pool is nearly used up. `use`: the quota's name and numbers. */
export function quotaNear(pool: KubeObject, code: string, use: string): EventToPublish {
  return {
    object: pool,
    type: "Warning",
    reason: "QuotaNear",
    message: `${use}: what does not fit is not launched. Ask AWS for more in Service Quotas, or let the NodePool launch other families or capacity types`,
    dedupeValues: [pool.metadata.uid ?? pool.metadata.name, code],
    dedupeMs: 3_600_000,
  };
}

/** The names as text: `a, b, c, d, e and 3 other(s)`. */
function pretty(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} other(s)` : shown;
}

/**
 * The event that EC2 does not say for certain whether the node has drifted. So the node stays as it is. Published once
 * an hour for each claim; karpenter-ts only.
 */
export function driftUnproven(claim: NodeClaim, why: string): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "DriftUnproven",
    message: `Whether its node has drifted is not certain, so it is not replaced for that now: ${why}`,
    dedupeValues: [claim.metadata.name],
    dedupeMs: TELL_AGAIN_MS,
    rate: UNPROVEN_RATE,
  };
}
