/**
 * Whether an instance whose tags have this cluster's name belongs to this cluster. Two clusters may have one name, by
 * mistake or one after the other. The UIDs of their namespaces kube-system differ.
 */
import { CLUSTER_UID_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";

/** Whether an instance was launched by this cluster. */
export type Origin = "ours" | "another" | "unknown";

/** `hasNode`: this cluster has a Node for the instance. `clusterUid`: undefined if it is not known. */
export function originOf(
  { metadata }: NodeClaim,
  { clusterUid, hasNode }: { readonly clusterUid: string | undefined; readonly hasNode: boolean },
): Origin {
  const tagged = metadata.annotations?.[CLUSTER_UID_KEY];
  if (tagged !== undefined && clusterUid !== undefined)
    return tagged === clusterUid ? "ours" : "another";
  return hasNode ? "ours" : "unknown";
}
