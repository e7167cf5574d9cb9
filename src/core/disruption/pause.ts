/**
 * A pause of everything voluntary: by a setting for the whole cluster, or by an annotation on one pool.
 * Ours; upstream is paused by budgets of zero, pool by pool.
 */
import { DISRUPTION_PAUSED_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { Block } from "./candidates.ts";

/** `native`: the NodePool or Provisioner as stored. */
export function pauseOf(native: KubeObject | undefined, everywhere: boolean): Block | undefined {
  if (everywhere) {
    const message = "voluntary disruption is paused by the setting pause-disruption";
    return { kind: "paused", message };
  }
  const key = DISRUPTION_PAUSED_ANNOTATION_KEY;
  if (native?.metadata.annotations?.[key] !== "true") return undefined;
  const { kind = "NodePool", metadata } = native;
  const message = `voluntary disruption is paused through the "${key}" annotation (${kind}=${metadata.name})`;
  return { kind: "paused", message, by: { kind, name: metadata.name } };
}
