/** Metrics of voluntary disruption. upstream: pkg/controllers/disruption/metrics.go */
import { DURATION_BUCKETS, type MetricSpec } from "../../base/metrics.ts";

export const DISRUPTION_METRICS: readonly MetricSpec[] = [
  {
    name: "voluntary_disruption_decision_evaluation_duration_seconds",
    type: "histogram",
    help: "Time it took to look for something to disrupt, by method.",
    labels: ["reason", "consolidation_type"],
    buckets: DURATION_BUCKETS,
  },
  {
    name: "voluntary_disruption_decisions_total",
    type: "counter",
    help: "Number of disruption commands carried out.",
    labels: ["decision", "reason", "consolidation_type"],
  },
  {
    name: "voluntary_disruption_decisions_by_nodepool_total",
    type: "counter",
    help: "Number of disruption commands carried out, by each nodepool whose nodes they are about.",
    labels: ["nodepool", "decision", "reason", "consolidation_type"],
  },
  {
    name: "voluntary_disruption_consolidation_timeouts_total",
    type: "counter",
    help: "Number of searches for a consolidation that were given up for lack of time. Long ones take turns with other work here: 0.",
    labels: ["consolidation_type"],
  },
  {
    name: "voluntary_disruption_eligible_nodes",
    type: "gauge",
    help: "Number of nodes a method could disrupt if budgets allowed.",
    labels: ["reason"],
  },
  {
    name: "voluntary_disruption_failed_validations_total",
    type: "counter",
    help: "Number of commands that no longer held when their wait was over.",
    labels: ["consolidation_type"],
  },
  {
    name: "voluntary_disruption_queue_failures_total",
    type: "counter",
    help: "Number of replacement nodes that did not come up, of commands that failed for it.",
    labels: ["decision", "reason", "consolidation_type"],
  },
  {
    name: "consolidation_moves_total",
    type: "counter",
    help: "Number of consolidations weighed, by what the nodepool's policy made of them.",
    labels: ["decision", "nodepool", "policy"],
  },
  {
    name: "consolidation_score",
    type: "histogram",
    help: "Share of cost saved for the share of pods disturbed, of moves in Balanced nodepools.",
    labels: ["decision", "nodepool", "policy"],
    buckets: [0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10],
  },
  {
    name: "voluntary_disruption_savings_dollars",
    type: "histogram",
    help: "What consolidations save an hour, as predicted and as it came to once the new nodes were there. Negative: it costs more. Ours.",
    labels: ["reason", "estimate"],
    buckets: [-1, 0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100],
  },
  {
    name: "nodepools_allowed_disruptions",
    type: "gauge",
    help: "Number of nodes of a nodepool that its budgets allow to be disrupted at once, those that are being disrupted among them.",
    labels: ["nodepool", "reason"],
  },
  {
    name: "nodepools_nodes_consuming_budgets",
    type: "gauge",
    help: "Number of nodes of a nodepool that are not ready or leaving.",
    labels: ["nodepool", "reason"],
  },
  {
    name: "pods_disruption_initiated_total",
    type: "counter",
    help: "Number of pods on nodes that were taken out of service, by reason.",
    labels: ["reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"],
  },
];
