/** The text that a user reads on a pod that fits nowhere, in kube-scheduler's shape and order. */
import type { Pod } from "../../apis/core/pod.ts";
import type { Feasible } from "./feasible.ts";

/** What the real scheduler says of an empty cluster. */
export const NO_NODES = "no nodes available to schedule pods";

/** Dynamic resource allocation has its word in every refusal. */
const NO_CLAIMS = "no new claims to deallocate";

/** `0/3 nodes are available: 1 …, 2 …. no new …, preemption: 0/3 nodes are available: …`. */
export function unschedulableMessage(pod: Pod, result: Feasible, nodeCount: number): string {
  if (nodeCount === 0) return NO_NODES;
  const counts = new Map<string, number>();
  for (const { reasons } of result.rejections.values()) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const why = result.message ?? histogram(counts);
  const head = `0/${nodeCount} nodes are available:`;
  const after = `${NO_CLAIMS}, ${preemption(pod, result, nodeCount)}`;
  return `${head}${why === "" ? "" : ` ${why}.`} ${after}`;
}

/** Preemption never finds anyone here: this scheduler does not evict (see the folder's README). */
function preemption(pod: Pod, result: Feasible, nodeCount: number): string {
  if (pod.spec.preemptionPolicy === "Never") {
    return "preemption: not eligible due to preemptionPolicy=Never.";
  }
  const counts = new Map<string, number>();
  let helpful = 0;
  for (const { unresolvable } of result.rejections.values()) if (!unresolvable) helpful++;
  if (helpful > 0) counts.set("No preemption victims found for incoming pod", helpful);
  if (nodeCount > helpful) {
    counts.set("Preemption is not helpful for scheduling", nodeCount - helpful);
  }
  return `preemption: 0/${nodeCount} nodes are available: ${histogram(counts)}.`;
}

/** Sorted as text, the count included: `10 x` comes before `2 y`. */
function histogram(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(", ");
}
