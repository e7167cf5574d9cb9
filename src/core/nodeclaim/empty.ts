/**
 * The condition of a claim that marks a node which may be disrupted soon. In v1 it is `Consolidatable`: no pod was
 * added or removed for `consolidateAfter`. In v1alpha5 and v1beta1 it is `Empty`: only daemons run on the node, and the
 * emptiness method waits from the time of this condition.
 * upstream: pkg/controllers/nodeclaim/disruption/consolidation.go, emptiness.go at v0.32
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NodeView } from "../state/node-view.ts";
import { quietFromMs } from "../state/quiet.ts";

/** Whether the condition must be set or cleared now. */
export type ConditionVerdict =
  | { readonly state: "set" }
  /**
   * `checkAfterMs`: the condition may be set after this time, if no pod is added or removed until then. Undefined: only
   * a change of the claim, its pool or its node can set it.
   */
  | { readonly state: "clear"; readonly checkAfterMs: number | undefined };

const CLEAR: ConditionVerdict = { state: "clear", checkAfterMs: undefined };

/** Whether only daemon and mirror pods run on the node. */
function isEmpty(node: NodeView): boolean {
  return !node.pods.some(isReschedulable);
}

/** Whether the v1 condition `Consolidatable` must be set. */
export function consolidatable(claim: NodeClaim, pool: Pool, nowMs: number): ConditionVerdict {
  const fromMs = quietFromMs(claim, pool);
  if (fromMs === undefined) return CLEAR;
  const leftMs = fromMs - nowMs;
  return leftMs <= 0 ? { state: "set" } : { state: "clear", checkAfterMs: leftMs };
}

/**
 * Whether the condition `Empty` of v1alpha5 and v1beta1 must be set. Only pools that remove empty nodes use it. A
 * nomination does not clear it: the wait must start when the last pod is gone, and a nominated node is not disrupted
 * anyway.
 */
export function empty(claim: NodeClaim, pool: Pool, node: NodeView | undefined): ConditionVerdict {
  const { policy, consolidateAfter } = pool.disruption;
  if (policy !== "WhenEmpty" || consolidateAfter === "Never") return CLEAR;
  if (!isTrue(claim, "Initialized") || node === undefined || !isEmpty(node)) return CLEAR;
  return { state: "set" };
}
