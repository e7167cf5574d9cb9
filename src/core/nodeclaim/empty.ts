/**
 * What a claim's emptiness conditions should say now. v1 keeps `Consolidatable`: nothing has happened on
 * the node for consolidateAfter. Alpha and beta keep `Empty`: nothing but daemons has been there since;
 * the wait itself is counted from that condition by the emptiness method.
 * upstream: pkg/controllers/nodeclaim/disruption/consolidation.go, emptiness.go at v0.32
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NodeView } from "../state/node-view.ts";
import { quietFromMs } from "../state/quiet.ts";

export type Verdict =
  | { readonly state: "set" }
  /** `checkAfterMs`: it may be set then, if nothing happens. */
  | { readonly state: "clear"; readonly checkAfterMs: number | undefined };

const CLEAR: Verdict = { state: "clear", checkAfterMs: undefined };

/** Whether nothing but daemons and mirror pods is there. */
function isEmpty(node: NodeView): boolean {
  return !node.pods.some(isReschedulable);
}

/** v1's `Consolidatable`. */
export function consolidatable(claim: NodeClaim, pool: Pool, nowMs: number): Verdict {
  const fromMs = quietFromMs(claim, pool);
  if (fromMs === undefined) return CLEAR;
  const leftMs = fromMs - nowMs;
  return leftMs <= 0 ? { state: "set" } : { state: "clear", checkAfterMs: leftMs };
}

/**
 * Alpha's and beta's `Empty`; kept only where emptiness is what removes nodes. A nomination does not clear
 * it: a nominated node is no candidate anyway, and the time since its last pod went is what counts.
 */
export function empty(claim: NodeClaim, pool: Pool, node: NodeView | undefined): Verdict {
  const { policy, consolidateAfter } = pool.disruption;
  if (policy !== "WhenEmpty" || consolidateAfter === "Never") return CLEAR;
  if (!isTrue(claim, "Initialized") || node === undefined || !isEmpty(node)) return CLEAR;
  return { state: "set" };
}
