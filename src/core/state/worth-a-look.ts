/**
 * Changes of an object that may make a disruption possible, although no object was added or removed. A sweep that
 * found nothing is repeated only after the cluster's revision changed. Changes that happen on every node every few
 * minutes (heartbeats, images) do not count.
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { deepEqual } from "../../base/json.ts";
import { isOthersFirst } from "./cordon.ts";

/** Whether the node may take other pods, or more pods, than before. */
export function takesOthers(before: Node, after: Node): boolean {
  return !deepEqual(offerOf(before), offerOf(after));
}

function offerOf({ metadata, spec, status }: Node): unknown {
  // kube-scheduler alone reads this taint; planning ignores it.
  const taints = (spec?.taints ?? []).filter((taint) => !isOthersFirst(taint));
  return [metadata.labels, taints, spec?.unschedulable === true, status?.allocatable];
}

/** Whether the claim became consolidatable. Pods may then be moved to its node, even if the node itself stays. */
export function comesToRest(before: NodeClaim, after: NodeClaim): boolean {
  return isTrue(after, "Consolidatable") && !isTrue(before, "Consolidatable");
}

/** Whether the pod was resized in place. */
export function isOtherSize(before: Pod, after: Pod): boolean {
  return !deepEqual(podRequests(before), podRequests(after));
}
