/**
 * The conditions of a claim that mark an unused node. In v1, `Consolidatable`: no pod was added or removed for
 * consolidateAfter. In v1alpha5 and v1beta1, `Empty`: only daemons run on the node. The emptiness method waits from the
 * time of this condition.
 * upstream: pkg/controllers/nodeclaim/disruption/consolidation.go, emptiness.go at v0.32
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NodeView } from "../state/node-view.ts";
import { quietFromMs } from "../state/quiet.ts";

/** Whether the condition must be set or cleared. */
export type Verdict =
  | { readonly state: "set" }
  /** `checkAfterMs`: after this time the condition may be set, if no pod is added or removed. */
  | { readonly state: "clear"; readonly checkAfterMs: number | undefined };

const CLEAR: Verdict = { state: "clear", checkAfterMs: undefined };

/** Whether only daemon and mirror pods run on the node. */
function isEmpty(node: NodeView): boolean {
  return !node.pods.some(isReschedulable);
}

/** Whether the v1 condition `Consolidatable` must be set. */
export function consolidatable(claim: NodeClaim, pool: Pool, nowMs: number): Verdict {
  const fromMs = quietFromMs(claim, pool);
  if (fromMs === undefined) return CLEAR;
  const leftMs = fromMs - nowMs;
  return leftMs <= 0 ? { state: "set" } : { state: "clear", checkAfterMs: leftMs };
}

/**
 * Whether the condition `Empty` of v1alpha5 and v1beta1 must be set, for pools that remove empty nodes. A nomination
 * does not clear the condition. A nominated node is no candidate anyway, and the wait should start when the last pod is
 * gone.
 */
export function empty(claim: NodeClaim, pool: Pool, node: NodeView | undefined): Verdict {
  const { policy, consolidateAfter } = pool.disruption;
  if (policy !== "WhenEmpty" || consolidateAfter === "Never") return CLEAR;
  if (!isTrue(claim, "Initialized") || node === undefined || !isEmpty(node)) return CLEAR;
  return { state: "set" };
}
