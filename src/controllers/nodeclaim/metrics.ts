/** Metrics of claims and their nodes. upstream: pkg/metrics/metrics.go, nodeclaim/lifecycle/metrics.go */
import { doubling, type MetricSpec } from "../../base/metrics.ts";

export const NODECLAIM_METRICS: readonly MetricSpec[] = [
  {
    name: "nodeclaims_terminated_total",
    type: "counter",
    help: "Number of nodeclaims that have ended, by owning nodepool.",
    labels: ["nodepool", "capacity_type", "zone"],
  },
  {
    name: "nodeclaims_disrupted_total",
    type: "counter",
    help: "Number of nodeclaims taken out of service, by reason.",
    labels: ["reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"],
  },
  {
    name: "nodeclaims_unhealthy_disrupted_total",
    type: "counter",
    help: "Number of nodeclaims ended because their node was broken, by condition.",
    labels: ["condition", "nodepool", "capacity_type", "image_id"],
  },
  {
    name: "nodeclaims_termination_duration_seconds",
    type: "histogram",
    help: "Time from a nodeclaim's deletion until its finalizer is off.",
    labels: ["nodepool"],
    buckets: doubling(1, 12),
  },
  {
    name: "nodeclaims_instance_termination_duration_seconds",
    type: "histogram",
    help: "Time from asking the cloud to end an instance until it is gone.",
    labels: ["nodepool"],
    buckets: doubling(1, 11),
  },
  {
    name: "nodes_created_total",
    type: "counter",
    help: "Number of nodes that have registered, by owning nodepool.",
    labels: ["nodepool", "zone"],
  },
];
