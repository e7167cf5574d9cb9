/** Metrics of voluntary disruption. upstream: pkg/controllers/disruption/metrics.go */
import { DURATION_BUCKETS, type MetricSpec } from "../../base/metrics.ts";

export const DISRUPTION_METRICS: readonly MetricSpec[] = [
  {
    name: "voluntary_disruption_decision_evaluation_duration_seconds",
    type: "histogram",
    help: "Time that a disruption method took to find its commands.",
    labels: ["reason", "consolidation_type"],
    buckets: DURATION_BUCKETS,
  },
  {
    name: "voluntary_disruption_decisions_total",
    type: "counter",
    help: "Number of disruption commands executed.",
    labels: ["decision", "reason", "consolidation_type"],
  },
  {
    name: "voluntary_disruption_decisions_by_nodepool_total",
    type: "counter",
    help: "Number of disruption commands executed, by nodepool of the disrupted nodes.",
    labels: ["nodepool", "decision", "reason", "consolidation_type"],
  },
  {
    name: "voluntary_disruption_terminate_first_decisions_total",
    type: "counter",
    help: "Number of nodes that are removed before they are replaced, because nothing else is possible.",
    labels: ["nodepool", "reason", "terminate_first_reason"],
  },
  {
    name: "voluntary_disruption_consolidation_timeouts_total",
    type: "counter",
    help: "Number of consolidation searches that ran out of time. Always 0 in karpenter-ts, where long searches yield to other work.",
    labels: ["consolidation_type"],
  },
  {
    name: "voluntary_disruption_eligible_nodes",
    type: "gauge",
    help: "Number of nodes that a method could disrupt, budgets aside.",
    labels: ["reason"],
  },
  {
    name: "voluntary_disruption_failed_validations_total",
    type: "counter",
    help: "Number of commands that failed validation after their wait.",
    labels: ["consolidation_type"],
  },
  {
    name: "voluntary_disruption_queue_failures_total",
    type: "counter",
    help: "Number of failed commands whose replacement nodes did not become ready.",
    labels: ["decision", "reason", "consolidation_type"],
  },
  {
    name: "consolidation_moves_total",
    type: "counter",
    help: "Number of consolidation commands that the Balanced policy approved or rejected.",
    labels: ["decision", "nodepool", "policy"],
  },
  {
    name: "consolidation_score",
    type: "histogram",
    help: "Share of the NodePool's cost that a command saves, divided by the share of its pods that it disrupts.",
    labels: ["decision", "nodepool", "policy"],
    buckets: [0.1, 0.25, 0.33, 0.5, 1, 2, 5, 10],
  },
  {
    name: "voluntary_disruption_savings_dollars",
    type: "histogram",
    help: "Savings of consolidation in dollars per hour: predicted, and realised once the new nodes run. Negative: it costs more. karpenter-ts only.",
    labels: ["reason", "estimate"],
    buckets: [-1, 0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100],
  },
  {
    name: "nodepools_allowed_disruptions",
    type: "gauge",
    help: "Number of nodes of a nodepool that its budgets allow to be disrupted at the same time, nodes already being disrupted included.",
    labels: ["nodepool", "reason"],
  },
  {
    name: "nodepools_nodes_consuming_budgets",
    type: "gauge",
    help: "Number of a nodepool's nodes that use up its budgets: not ready, or being removed.",
    labels: ["nodepool", "reason"],
  },
  {
    name: "pods_disruption_initiated_total",
    type: "counter",
    help: "Number of pods on disrupted nodes, by reason.",
    labels: ["reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"],
  },
];
