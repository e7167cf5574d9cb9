/** Metrics of planning. upstream: pkg/controllers/provisioning/scheduling/metrics.go */
import { DURATION_BUCKETS, type MetricSpec } from "../../base/metrics.ts";

/** Metrics of passes, pending pods and created claims. */
export const PROVISIONING_METRICS: readonly MetricSpec[] = [
  {
    name: "nodeclaims_created_total",
    type: "counter",
    help: "Number of nodeclaims created, by reason and owning nodepool.",
    labels: ["reason", "nodepool", "min_values_relaxed"],
  },
  {
    name: "observed_decisions_total",
    type: "counter",
    help: "Number of decisions that --observe-only did not carry out. A decision counts each time it is made.",
    labels: ["decision", "reason", "nodepool"],
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
    help: "Number of pods that the last pass left out because their spec cannot be planned for.",
    labels: [],
  },
  {
    name: "scheduler_unschedulable_pods_count",
    type: "gauge",
    help: "Number of pods that the last pass could not place.",
    labels: ["controller"],
  },
  {
    name: "scheduler_queue_depth",
    type: "gauge",
    help: "Number of pods of the running pass that are not decided on yet.",
    labels: ["controller", "scheduling_id"],
  },
  {
    name: "scheduler_unfinished_work_seconds",
    type: "gauge",
    help: "How long the running pass has taken so far.",
    labels: ["controller", "scheduling_id"],
  },
  {
    name: "scheduler_pending_pods_by_effective_zone_count",
    type: "gauge",
    help: "Number of pending pods by the zone to which their rules and volumes restrict them. flexible: several zones are possible; none: no zone is.",
    labels: ["controller", "zone"],
  },
  {
    name: "pods_scheduling_decision_duration_seconds",
    type: "histogram",
    help: "Time from when a pending pod was first seen until a plan decided about it.",
    labels: [],
    buckets: DURATION_BUCKETS,
  },
];
