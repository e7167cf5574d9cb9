/**
 * The eviction cost of a pod, for comparisons of nodes. It depends on the deletion cost that users can set on pods.
 * With the feature gate PodDeletionCostManagement, Karpenter sets deletion costs, too. It records them in a second
 * annotation, so that deletion costs of users still count and are never overwritten.
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

/**
 * The eviction cost of a pod, between -10 and 10. It is 1 for an ordinary pod. A deletion cost and the pod's priority
 * raise or lower it.
 */
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

/**
 * The cost that annotations of the pod set: Karpenter's own annotation, or else a deletion cost of a user. A value that
 * is not an int32 counts as 0, as in upstream.
 */
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
