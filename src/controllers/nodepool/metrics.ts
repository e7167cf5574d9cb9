/** Metrics of pools. upstream: pkg/controllers/metrics/nodepool/controller.go */
import type { MetricSpec } from "../../base/metrics.ts";

export const NODEPOOL_METRICS: readonly MetricSpec[] = [
  {
    name: "nodepools_usage",
    type: "gauge",
    help: "What a nodepool's nodes have, by resource.",
    labels: ["resource_type", "nodepool"],
  },
  {
    name: "nodepools_limit",
    type: "gauge",
    help: "What a nodepool's nodes may have, by resource.",
    labels: ["resource_type", "nodepool"],
  },
  {
    name: "cluster_state_node_count",
    type: "gauge",
    help: "Number of nodes in our picture of the cluster.",
    labels: [],
  },
  {
    name: "cluster_state_synced",
    type: "gauge",
    help: "1 while our picture of the cluster is complete.",
    labels: [],
  },
];
