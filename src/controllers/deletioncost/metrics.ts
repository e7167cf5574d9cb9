/** Metrics of the deletion costs that are written on pods. upstream: pkg/controllers/pod/deletioncost/metrics.go */
import type { MetricSpec } from "../../base/metrics.ts";

/** Metrics that get values only with the feature gate PodDeletionCostManagement. */
export const DELETION_COST_METRICS: readonly MetricSpec[] = [
  {
    name: "pod_deletion_cost_pod_annotation_writes_total",
    type: "counter",
    help: "Deletion costs written on pods, by result: updated, skipped_unchanged, skipped_notfound, skipped_conflict, error.",
    labels: ["result"],
  },
  {
    name: "pod_deletion_cost_nodes_with_pending_annotation_writes",
    type: "gauge",
    help: "Nodes with pods whose deletion cost is to be written, by nodepool.",
    labels: ["nodepool"],
  },
];
