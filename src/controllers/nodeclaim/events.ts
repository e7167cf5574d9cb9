/** Events about claims. upstream: pkg/controllers/nodeclaim/lifecycle/events.go */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events.ts";

export function insufficientCapacity(claim: NodeClaim, why: string): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "InsufficientCapacityError",
    message: `NodeClaim ${claim.metadata.name} event: ${why}`,
    dedupeValues: [claim.metadata.name],
  };
}

export function unregisteredTaintMissing(claim: NodeClaim): EventToPublish {
  return {
    object: claim,
    type: "Warning",
    reason: "UnregisteredTaintMissing",
    message: "Missing karpenter.sh/unregistered taint which prevents registration races",
    dedupeValues: [claim.metadata.name],
  };
}

/** For the claim and for its node. `at`: RFC 3339. */
export function terminationGracePeriodExpiring(object: KubeObject, at: string): EventToPublish {
  return {
    object,
    type: "Warning",
    reason: "TerminationGracePeriodExpiring",
    message: `All pods will be deleted by ${at}`,
    dedupeValues: [object.metadata.name],
  };
}
