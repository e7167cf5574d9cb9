/** Which pods of a ReplicaSet are deleted first, as upstream does: pkg/controller ActivePodsWithRanks. */
import type { Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { createdAtMs } from "../../../apis/meta.ts";
import { availableAtMs } from "../controls.ts";

const DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost";
const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/**
 * Pods in the order in which they are deleted. These pods come first, each condition before the next one: without a
 * node, pending, not ready, low deletion cost. Then: on a crowded node, ready for a shorter time, more restarts,
 * younger, name. `crowding`: the number of pods of the same Deployment on each node.
 */
export function byDeletionPreference(
  pods: readonly Pod[],
  crowding: ReadonlyMap<string, number>,
): readonly Pod[] {
  const cost = (pod: Pod): number => {
    const value = Number(pod.metadata.annotations?.[DELETION_COST_ANNOTATION] ?? 0);
    return Number.isInteger(value) ? value : 0;
  };
  const criteria: readonly ((pod: Pod) => number)[] = [
    (pod) => (pod.spec.nodeName === undefined ? 0 : 1),
    (pod) => PHASE_ORDER[pod.status?.phase ?? "Pending"] ?? 0,
    (pod) => (isReady(pod) ? 1 : 0),
    cost,
    (pod) => -(crowding.get(pod.spec.nodeName ?? "") ?? 0),
    // Upstream compares the logarithms of times. This order is one of the orders that it allows.
    (pod) => -(isReady(pod) ? (availableAtMs(pod, 0) ?? 0) : 0),
    (pod) => -restarts(pod),
    (pod) => -createdAtMs(pod),
  ];
  return [...pods].sort((a, b) => {
    for (const criterion of criteria) {
      const difference = criterion(a) - criterion(b);
      if (difference !== 0) return difference;
    }
    return a.metadata.name < b.metadata.name ? -1 : 1;
  });
}

function restarts(pod: Pod): number {
  return Math.max(
    0,
    ...(pod.status?.containerStatuses ?? []).map((one) => Number(one["restartCount"] ?? 0)),
  );
}
