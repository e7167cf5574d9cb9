/** Metrics of planning. upstream: pkg/controllers/provisioning/scheduling/metrics.go */
import { DURATION_BUCKETS, type MetricSpec } from "../../base/metrics.ts";

export const PROVISIONING_METRICS: readonly MetricSpec[] = [
  {
    name: "nodeclaims_created_total",
    type: "counter",
    help: "Number of nodeclaims created, by reason and owning nodepool.",
    labels: ["reason", "nodepool", "min_values_relaxed"],
  },
  {
    name: "scheduler_scheduling_duration_seconds",
    type: "histogram",
    help: "Duration of planning passes.",
    labels: ["controller"],
    buckets: DURATION_BUCKETS,
  },
  {
    name: "scheduler_ignored_pods_count",
    type: "gauge",
    help: "Number of pods the last pass did not look at because of what they ask for.",
    labels: [],
  },
  {
    name: "scheduler_unschedulable_pods_count",
    type: "gauge",
    help: "Number of pods the last pass found no place for.",
    labels: ["controller"],
  },
];
