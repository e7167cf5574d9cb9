/**
 * The label of nodes and pods that are to stay unhealthy. Upstream's stages for kwok (hack/kwok/stages of core) have
 * the same one. The kubelet of such a node leaves the conditions that somebody wrote. Such a pod runs and is never
 * ready.
 */
import type { KubeObject } from "../../apis/meta.ts";

const STAGE_LABEL = "kwok.x-k8s.io/stage";
const UNHEALTHY = "unhealthy";

/** Whether the label of the object says that it stays unhealthy. */
export function staysUnhealthy({ metadata }: KubeObject): boolean {
  return metadata.labels?.[STAGE_LABEL] === UNHEALTHY;
}
