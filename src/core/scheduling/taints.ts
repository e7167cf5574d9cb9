/**
 * Taints in planning. At first a pod must tolerate taints of every effect, including PreferNoSchedule. After it has
 * dropped its preferences, only NoSchedule and NoExecute count. Ephemeral taints of new nodes are ignored.
 * upstream: pkg/scheduling/taints.go
 */
import type { Taint } from "../../apis/core/node.ts";
import type { Toleration } from "../../apis/core/pod.ts";
import { isSameTaint, tolerates } from "../../apis/core/tolerations.ts";
import { KNOWN_EPHEMERAL_TAINTS, READINESS_TAINT_PREFIX } from "../../apis/karpenter/labels.ts";

/** The toleration that a pod gets when it drops its preferences, because PreferNoSchedule is only a preference. */
export const TOLERATE_PREFERENCES: Toleration = { operator: "Exists", effect: "PreferNoSchedule" };

/**
 * The taints that exclude a pod from a node even after it has dropped its preferences. PreferNoSchedule taints are
 * never among them.
 */
export function forbiddingTaints(
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[],
): readonly Taint[] {
  if (taints.length === 0) return taints;
  return taints.filter(
    (taint) => taint.effect !== "PreferNoSchedule" && !tolerates(tolerations, taint),
  );
}

/** Whether the taints let a pod with these tolerations in, maybe after it has dropped its preferences. */
export function areTolerated(
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[],
): boolean {
  return forbiddingTaints(tolerations, taints).length === 0;
}

/** Whether the taint is normally removed by itself while a node starts. */
export function isEphemeralTaint(taint: Taint): boolean {
  return (
    taint.key.startsWith(READINESS_TAINT_PREFIX) ||
    KNOWN_EPHEMERAL_TAINTS.some((known) => isSameTaint(known, taint))
  );
}

/** Whether one of these pools or nodes has a PreferNoSchedule taint. */
export function someAreAvoided(places: readonly { readonly taints: readonly Taint[] }[]): boolean {
  return places.some(
    ({ taints }) => taints.length > 0 && taints.some(({ effect }) => effect === "PreferNoSchedule"),
  );
}
