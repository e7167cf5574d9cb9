/**
 * Whether an instance that carries this cluster's name belongs to this cluster. Two clusters may have one name, by
 * mistake or one after the other; the UID of their namespace kube-system differs.
 */
import { CLUSTER_UID_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";

/** Whether an instance was launched by this cluster. */
export type Origin = "ours" | "another" | "unknown";

/** `hasNode`: a Node of this cluster stands for the instance. `clusterUid`: undefined when it is not known. */
export function originOf(
  { metadata }: NodeClaim,
  { clusterUid, hasNode }: { readonly clusterUid: string | undefined; readonly hasNode: boolean },
): Origin {
  const tagged = metadata.annotations?.[CLUSTER_UID_KEY];
  if (tagged !== undefined && clusterUid !== undefined)
    return tagged === clusterUid ? "ours" : "another";
  return hasNode ? "ours" : "unknown";
}
