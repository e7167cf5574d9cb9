/** An id that distinguishes this cluster from all others, even from one with the same name. */
import { NAMESPACE } from "../apis/core/kinds.ts";
import type { World } from "./world.ts";

/**
 * The UID of namespace kube-system, which exists as long as the cluster. Undefined until namespaces have been listed.
 */
export function clusterUid({ mirrors }: Pick<World, "mirrors">): string | undefined {
  return mirrors.of(NAMESPACE).get("kube-system")?.metadata.uid;
}
