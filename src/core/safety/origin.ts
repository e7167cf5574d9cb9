/**
 * Whether an instance that is tagged with this cluster's name belongs to this cluster. Two clusters may have the same
 * name, by mistake or one after the other. The UIDs of their namespaces kube-system differ.
 */
import { CLUSTER_UID_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";

/** `ours`: this cluster launched the instance. `another`: another cluster of the same name did. */
export type Origin = "ours" | "another" | "unknown";

/**
 * Which cluster launched the instance. `hasNode`: whether this cluster has a Node for it. `clusterUid`: undefined if
 * not known.
 */
export function originOf(
  { metadata }: NodeClaim,
  { clusterUid, hasNode }: { readonly clusterUid: string | undefined; readonly hasNode: boolean },
): Origin {
  const tagged = metadata.annotations?.[CLUSTER_UID_KEY];
  if (tagged !== undefined && clusterUid !== undefined)
    return tagged === clusterUid ? "ours" : "another";
  return hasNode ? "ours" : "unknown";
}
