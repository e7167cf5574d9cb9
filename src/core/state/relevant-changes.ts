/**
 * Decides which changes of a Node, claim or pod may make a disruption possible. A disruption round that found nothing
 * is repeated only after such a change. Changes that every node reports every few minutes (heartbeats, images) do not
 * count.
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { deepEqual } from "../../base/json.ts";
import { isOthersFirst } from "./cordon.ts";

/**
 * Whether labels, taints or allocatable resources of the node changed, so that it may now take other pods than before.
 */
export function mayTakeOtherPods(before: Node, after: Node): boolean {
  return !deepEqual(offerOf(before), offerOf(after));
}

function offerOf({ metadata, spec, status }: Node): unknown {
  // Only kube-scheduler reads this taint; planning ignores it.
  const taints = (spec?.taints ?? []).filter((taint) => !isOthersFirst(taint));
  return [metadata.labels, taints, spec?.unschedulable === true, status?.allocatable];
}

/**
 * Whether the claim has just got the condition Consolidatable: no pod was added or removed for `consolidateAfter`. From
 * then on its node may be consolidated. It may also take pods of other nodes, so these may be consolidated, too.
 */
export function becomesConsolidatable(before: NodeClaim, after: NodeClaim): boolean {
  return isTrue(after, "Consolidatable") && !isTrue(before, "Consolidatable");
}

/** Whether the pod was resized in place. */
export function wasResized(before: Pod, after: Pod): boolean {
  return !deepEqual(podRequests(before), podRequests(after));
}
