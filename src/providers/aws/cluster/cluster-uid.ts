/** An id of the cluster that differs even from a cluster with the same name in the same account. */
import { NAMESPACE } from "../../../apis/core/kinds.ts";
import type { Mirrors } from "../../../kube/mirror/mirror.ts";

/** The UID of namespace kube-system; undefined until namespaces have been listed. */
export function clusterUid(mirrors: Mirrors): string | undefined {
  return mirrors.of(NAMESPACE).get("kube-system")?.metadata.uid;
}
