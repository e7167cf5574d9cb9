/** Metrics of claims and their nodes. upstream: pkg/metrics/metrics.go, nodeclaim/lifecycle/metrics.go */
import { doubling, type MetricSpec } from "../../base/metrics.ts";

/** Metrics of the creation, deletion and start times of NodeClaims. */
export const NODECLAIM_METRICS: readonly MetricSpec[] = [
  {
    name: "nodeclaims_terminated_total",
    type: "counter",
    help: "Number of nodeclaims terminated, by owning nodepool.",
    labels: ["nodepool", "capacity_type", "zone"],
  },
  {
    name: "nodeclaims_disrupted_total",
    type: "counter",
    help: "Number of nodeclaims disrupted, by reason.",
    labels: ["reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"],
  },
  {
    name: "nodeclaims_unhealthy_disrupted_total",
    type: "counter",
    help: "Number of nodeclaims that node repair replaced or rebooted, by the unhealthy node condition.",
    labels: ["condition", "nodepool", "capacity_type", "image_id", "termination_mode"],
  },
  {
    name: "nodeclaims_termination_duration_seconds",
    type: "histogram",
    help: "Time from the deletion of a nodeclaim until its finalizer is removed.",
    labels: ["nodepool"],
    buckets: doubling(1, 12),
  },
  {
    name: "nodeclaims_instance_termination_duration_seconds",
    type: "histogram",
    help: "Time from the call that terminates an instance until the instance is gone.",
    labels: ["nodepool"],
    buckets: doubling(1, 11),
  },
  {
    name: "nodes_reboots_total",
    type: "counter",
    help: "Number of reboots that node repair asked for, by how they ended.",
    labels: ["result"],
  },
  {
    name: "nodes_reboot_duration_seconds",
    type: "histogram",
    help: "Time from the request of a reboot until it succeeded or was given up.",
    labels: ["result"],
    buckets: doubling(10, 8),
  },
  {
    name: "nodes_reboot_recovery_duration_seconds",
    type: "histogram",
    help: "Time from the cloud's answer to a reboot until the node was ready again.",
    labels: [],
    buckets: doubling(10, 8),
  },
  {
    name: "nodes_created_total",
    type: "counter",
    help: "Number of nodes that have registered, by owning nodepool.",
    labels: ["nodepool", "zone"],
  },
];
