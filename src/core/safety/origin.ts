/**
 * Whether an instance that is tagged with this cluster's name belongs to this cluster. Two clusters may have the same
 * name, by mistake or one after the other. So instances are also tagged with the UID of the namespace kube-system,
 * which differs in every cluster.
 */
import { CLUSTER_UID_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";

/**
 * `ours`: this cluster launched the instance. `another`: another cluster of the same name did. `unknown`: the tags do
 * not say.
 */
export type Origin = "ours" | "another" | "unknown";

/**
 * Which cluster launched the instance. `hasNode`: whether this cluster has a Node for it. `clusterUid`: the UID of
 * kube-system; undefined if not known.
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
