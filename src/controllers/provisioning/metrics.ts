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
  {
    name: "scheduler_queue_depth",
    type: "gauge",
    help: "Number of pods of the last pass that are not decided on yet.",
    labels: ["controller", "scheduling_id"],
  },
  {
    name: "scheduler_unfinished_work_seconds",
    type: "gauge",
    help: "How long the pass under way has taken so far.",
    labels: ["controller", "scheduling_id"],
  },
  {
    name: "scheduler_pending_pods_by_effective_zone_count",
    type: "gauge",
    help: "Number of pending pods by the zone that their own words and volumes leave; flexible: several, none: no zone.",
    labels: ["controller", "zone"],
  },
  {
    name: "pods_scheduling_decision_duration_seconds",
    type: "histogram",
    help: "Time from when a pod that waits was first seen until planning has decided on it.",
    labels: [],
    buckets: DURATION_BUCKETS,
  },
];
