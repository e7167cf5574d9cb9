/**
 * The eviction cost of a pod, and who wrote its deletion cost. With the gate PodDeletionCostManagement Karpenter writes
 * deletion costs, too, and records that in a second annotation. So deletion costs of users still count, and are never
 * overwritten. upstream: pkg/utils/disruption
 */
import type { Pod } from "../../apis/core/pod.ts";
import {
  DISRUPTION_COST_ANNOTATION_KEY,
  MANAGED_DELETION_COST_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";

/** Kubernetes' own: the ReplicaSet controller ends pods with a low cost first. */
export const DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost";

const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

/** 1 for an ordinary pod. Its costs and priority change it, between -10 and 10. */
export function evictionCost(pod: Pod): number {
  const cost = 1 + costOf(pod) / 2 ** 27 + (pod.spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}

/** Whether the pod has a deletion cost that Karpenter did not write. */
export function hasUsersDeletionCost({ metadata: { annotations = {} } }: Pod): boolean {
  const cost = annotations[DELETION_COST_ANNOTATION];
  return cost !== undefined && cost !== annotations[MANAGED_DELETION_COST_ANNOTATION_KEY];
}

/** The deletion cost that Karpenter wrote; undefined: none. */
export function managedDeletionCost({ metadata: { annotations = {} } }: Pod): string | undefined {
  const cost = annotations[DELETION_COST_ANNOTATION];
  return cost === annotations[MANAGED_DELETION_COST_ANNOTATION_KEY] ? cost : undefined;
}

/** Values that are no int32 count as none, as upstream's do. */
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
