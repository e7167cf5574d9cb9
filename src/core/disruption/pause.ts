/**
 * Pauses all voluntary disruption: by a setting for the cluster, or by an annotation for one pool. Also while the API
 * server answers with older versions than before, because then no node can be terminated. karpenter-ts only; upstream
 * needs a budget of zero in each NodePool.
 */
import { DISRUPTION_PAUSED_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { setBackShown } from "../safety/set-back.ts";
import type { Block } from "./candidates.ts";

/**
 * Why the pool is paused. `native`: the stored NodePool or Provisioner. `everywhere`: the setting for the whole
 * cluster.
 */
export function pauseOf(native: KubeObject | undefined, everywhere: boolean): Block | undefined {
  if (everywhere) {
    const message = "voluntary disruption is paused by the setting pause-disruption";
    return { kind: "paused", message };
  }
  const setBack = setBackShown(native);
  if (setBack !== undefined) return { kind: "paused", message: setBack };
  const key = DISRUPTION_PAUSED_ANNOTATION_KEY;
  if (native?.metadata.annotations?.[key] !== "true") return undefined;
  const { kind = "NodePool", metadata } = native;
  const message = `voluntary disruption is paused through the "${key}" annotation (${kind}=${metadata.name})`;
  return { kind: "paused", message, by: { kind, name: metadata.name } };
}
