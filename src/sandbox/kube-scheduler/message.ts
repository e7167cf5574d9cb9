/** The message on a pod that fits nowhere, in kube-scheduler's words. */
import type { Feasible } from "./feasible.ts";

/** The message if the cluster has no nodes. */
const NO_NODES = "no nodes available to schedule pods";

/** The part of a message that is about dynamic resource allocation. */
export const NO_CLAIMS = "no new claims to deallocate";
/** The part about dynamic resource allocation, if the pod has ResourceClaims. */
export const STILL_NO_CLAIMS = "still not schedulable";
export const NO_VICTIMS = "No preemption victims found for incoming pod";
export const NO_PREEMPTION_HELPS = "Preemption is not helpful for scheduling";

/** The whole message: `0/3 nodes are available: 1 …, 2 …. no new …, preemption: 0/3 nodes are available: …`. */
export function unschedulableMessage(
  result: Feasible,
  nodeCount: number,
  preemption: { readonly kind: "preempt" } | { readonly kind: "none"; readonly message: string },
): string {
  if (nodeCount === 0) return NO_NODES;
  const reasons = [...result.rejections.values()].flatMap((rejection) => rejection.reasons);
  const head =
    result.message === undefined
      ? refusalOf(nodeCount, reasons)
      : `0/${nodeCount} nodes are available: ${result.message}.`;
  return preemption.kind === "none" ? `${head} ${preemption.message}` : head;
}

/**
 * The first sentence: `0/3 nodes are available: 1 …, 2 ….`. Parts are sorted as text including the count, so
 * `10 x` is before `2 y`.
 */
export function refusalOf(nodeCount: number, reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const why = [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(", ");
  return `0/${nodeCount} nodes are available:${why === "" ? "" : ` ${why}.`}`;
}
