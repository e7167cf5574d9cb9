/** An id that distinguishes this cluster from all others, even from one with the same name. */
import { NAMESPACE } from "../apis/core/kinds.ts";
import type { World } from "./world.ts";

/** The UID of namespace kube-system, which lives as long as the cluster; undefined until it has been listed. */
export function clusterUid({ mirrors }: Pick<World, "mirrors">): string | undefined {
  return mirrors.of(NAMESPACE).get("kube-system")?.metadata.uid;
}
