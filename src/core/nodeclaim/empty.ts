/**
 * The conditions of a claim about emptiness. v1 has `Consolidatable`: nothing happened on the node for
 * consolidateAfter. v1alpha5 and v1beta1 have `Empty`: only daemons run there. The emptiness method counts the wait
 * from this condition.
 * upstream: pkg/controllers/nodeclaim/disruption/consolidation.go, emptiness.go at v0.32
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NodeView } from "../state/node-view.ts";
import { quietFromMs } from "../state/quiet.ts";

/** What the condition Empty must become. */
export type Verdict =
  | { readonly state: "set" }
  /** `checkAfterMs`: the condition may be set after that time if nothing happens. */
  | { readonly state: "clear"; readonly checkAfterMs: number | undefined };

const CLEAR: Verdict = { state: "clear", checkAfterMs: undefined };

/** Whether only daemons and mirror pods run there. */
function isEmpty(node: NodeView): boolean {
  return !node.pods.some(isReschedulable);
}

/** The condition `Consolidatable` of v1. */
export function consolidatable(claim: NodeClaim, pool: Pool, nowMs: number): Verdict {
  const fromMs = quietFromMs(claim, pool);
  if (fromMs === undefined) return CLEAR;
  const leftMs = fromMs - nowMs;
  return leftMs <= 0 ? { state: "set" } : { state: "clear", checkAfterMs: leftMs };
}

/**
 * The condition `Empty` of v1alpha5 and v1beta1, for pools that remove empty nodes. A nomination does not clear the
 * condition. A nominated node is no candidate anyway, and the wait starts when the last pod is gone.
 */
export function empty(claim: NodeClaim, pool: Pool, node: NodeView | undefined): Verdict {
  const { policy, consolidateAfter } = pool.disruption;
  if (policy !== "WhenEmpty" || consolidateAfter === "Never") return CLEAR;
  if (!isTrue(claim, "Initialized") || node === undefined || !isEmpty(node)) return CLEAR;
  return { state: "set" };
}
