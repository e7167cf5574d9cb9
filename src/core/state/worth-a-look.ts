/**
 * Changes of one object after which a disruption that found no place before may find one, though nothing came or went: a
 * sweep that found nothing is asked again only once the cluster's revision has moved. What changes every few minutes on
 * every node (heartbeats, images) is no such change.
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { deepEqual } from "../../base/json.ts";
import { isOthersFirst } from "./cordon.ts";

/** Other pods may come to it now, or more of them. */
export function takesOthers(before: Node, after: Node): boolean {
  return !deepEqual(offerOf(before), offerOf(after));
}

function offerOf({ metadata, spec, status }: Node): unknown {
  // Our own request to kube-scheduler, which planning does not see.
  const taints = (spec?.taints ?? []).filter((taint) => !isOthersFirst(taint));
  return [metadata.labels, taints, spec?.unschedulable === true, status?.allocatable];
}

/** Its node has come to rest: pods may be moved there, whether it may go itself or not. */
export function comesToRest(before: NodeClaim, after: NodeClaim): boolean {
  return isTrue(after, "Consolidatable") && !isTrue(before, "Consolidatable");
}

/** It was resized where it runs. */
export function isOtherSize(before: Pod, after: Pod): boolean {
  return !deepEqual(podRequests(before), podRequests(after));
}
