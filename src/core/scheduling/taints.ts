/**
 * Taints as planning sees them: every effect must be tolerated, PreferNoSchedule included, and
 * those that every young node carries for a while do not count. upstream: pkg/scheduling/taints.go
 */
import type { Taint } from "../../apis/core/node.ts";
import type { Toleration } from "../../apis/core/pod.ts";
import { isSameTaint } from "../../apis/core/tolerations.ts";
import { KNOWN_EPHEMERAL_TAINTS, READINESS_TAINT_PREFIX } from "../../apis/karpenter/labels.ts";

/** Added by relaxation: PreferNoSchedule is a wish, not a rule. */
export const TOLERATE_PREFERENCES: Toleration = { operator: "Exists", effect: "PreferNoSchedule" };

/** Goes away by itself while a node comes up. */
export function isEphemeralTaint(taint: Taint): boolean {
  return (
    taint.key.startsWith(READINESS_TAINT_PREFIX) ||
    KNOWN_EPHEMERAL_TAINTS.some((known) => isSameTaint(known, taint))
  );
}

/** Whether any of these pools or nodes is one that pods would rather not go to. */
export function someAreAvoided(places: readonly { readonly taints: readonly Taint[] }[]): boolean {
  return places.some(
    ({ taints }) => taints.length > 0 && taints.some(({ effect }) => effect === "PreferNoSchedule"),
  );
}
