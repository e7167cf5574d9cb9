/**
 * The eviction cost of a pod, for comparisons of nodes. It depends on the deletion cost that users can set on pods.
 * Karpenter records deletion costs that it sets itself in a second annotation, to tell them from those of users.
 * upstream: pkg/utils/disruption
 */
import type { Pod } from "../../apis/core/pod.ts";
import {
  DISRUPTION_COST_ANNOTATION_KEY,
  MANAGED_DELETION_COST_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";

/** An annotation of Kubernetes: the ReplicaSet controller deletes pods with a low cost first. */
export const DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost";

const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

/** The eviction cost of a pod, from -10 to 10: 1, raised or lowered by a deletion cost and the pod's priority. */
export function evictionCost(pod: Pod): number {
  const cost = 1 + costOf(pod) / 2 ** 27 + (pod.spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}

/** Whether the pod has a deletion cost that Karpenter did not write. */
export function hasUsersDeletionCost({ metadata: { annotations = {} } }: Pod): boolean {
  const cost = annotations[DELETION_COST_ANNOTATION];
  return cost !== undefined && cost !== annotations[MANAGED_DELETION_COST_ANNOTATION_KEY];
}

/** The deletion cost that Karpenter set. Undefined: it set none. */
export function managedDeletionCost({ metadata: { annotations = {} } }: Pod): string | undefined {
  const cost = annotations[DELETION_COST_ANNOTATION];
  return cost === annotations[MANAGED_DELETION_COST_ANNOTATION_KEY] ? cost : undefined;
}

/** The cost in Karpenter's own annotation, or else a user's deletion cost; 0 if it is no int32, as in upstream. */
function costOf(pod: Pod): number {
  const { annotations = {} } = pod.metadata;
  const own = annotations[DISRUPTION_COST_ANNOTATION_KEY];
  if (own !== undefined) return int32(own) ?? 0;
  return hasUsersDeletionCost(pod) ? (int32(annotations[DELETION_COST_ANNOTATION]) ?? 0) : 0;
}

function int32(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = Number(text);
  return value >= INT32.min && value <= INT32.max ? value : undefined;
}
