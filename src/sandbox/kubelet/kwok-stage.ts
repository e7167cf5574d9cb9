/**
 * The label of nodes and pods that stay unhealthy, as in upstream's stages for kwok (hack/kwok/stages of core). The
 * kubelet of a node with the label does not change conditions that other programs wrote. A pod with the label runs
 * and is never ready.
 */
import type { KubeObject } from "../../apis/meta.ts";

const STAGE_LABEL = "kwok.x-k8s.io/stage";
const UNHEALTHY = "unhealthy";

/** Whether the label of the object says that it stays unhealthy. */
export function staysUnhealthy({ metadata }: KubeObject): boolean {
  return metadata.labels?.[STAGE_LABEL] === UNHEALTHY;
}
