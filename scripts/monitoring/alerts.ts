/**
 * The alerts on Karpenter's metrics, as data. `npm run generate` writes them as a rule file for Prometheus and into the
 * chart's PrometheusRule. Each has a section of its name in docs/runbooks, which says what to do.
 */

export interface Alert {
  /** The alert's name without the prefix `Karpenter`, which the rule file adds. */
  readonly name: string;
  /** The file in docs/runbooks with the section about this alert. */
  readonly runbook: "controller" | "disruption" | "money" | "nodes" | "pods-and-pools";
  readonly expr: string;
  /** How long the expression must hold. */
  readonly for: string;
  readonly severity: "critical" | "warning" | "info";
  /** One line, in Prometheus' template language. */
  readonly summary: string;
  readonly description: string;
}

/** Errors of cloud calls that Karpenter expects and handles. */
const EXPECTED_ERRORS = "NodeClaimNotFoundError|InsufficientCapacityError";

export const ALERTS: readonly Alert[] = [
  {
    name: "Down",
    runbook: "controller",
    expr: "absent(karpenter_build_info)",
    for: "10m",
    severity: "critical",
    summary: "Prometheus gets no metrics from Karpenter.",
    description: "No node is launched, replaced or removed while Karpenter does not run.",
  },
  {
    name: "StateUnsynced",
    runbook: "controller",
    expr: "max(karpenter_cluster_state_unsynced_time_seconds) > 300",
    for: "5m",
    severity: "critical",
    summary:
      "Karpenter's view of the cluster has been incomplete for {{ $value | humanizeDuration }}.",
    description: "Nothing is planned or disrupted until every NodeClaim and Node is in the view.",
  },
  {
    name: "PassHangs",
    runbook: "controller",
    expr: "max(karpenter_scheduler_unfinished_work_seconds) > 120",
    for: "2m",
    severity: "critical",
    summary: "One planning pass has run for {{ $value | humanizeDuration }}.",
    description: "Pods that wait get no node until the pass ends.",
  },
  {
    name: "ReconcilePanics",
    runbook: "controller",
    expr: "sum by (controller) (increase(controller_runtime_reconcile_panics_total[15m])) > 0",
    for: "0m",
    severity: "warning",
    summary: "The controller {{ $labels.controller }} met a bug of its own.",
    description: "The object is tried again with back-off. The log has the stack.",
  },
  {
    name: "CloudErrors",
    runbook: "controller",
    expr: `sum by (method, error) (rate(karpenter_cloudprovider_errors_total{error!~"${EXPECTED_ERRORS}"}[10m])) > 0.05`,
    for: "10m",
    severity: "warning",
    summary: "The cloud refuses {{ $labels.method }}: {{ $labels.error }}.",
    description: "Launches and terminations wait until the cloud answers again.",
  },
  {
    name: "PodWaitsLong",
    runbook: "pods-and-pools",
    expr: "count by (namespace) (karpenter_pods_unbound_time_seconds > 900) > 0",
    for: "0m",
    severity: "warning",
    summary:
      "{{ $value }} pods of namespace {{ $labels.namespace }} have waited for a node for 15 minutes.",
    description: "`karpenter explain pod NAMESPACE/NAME` says which requirement no node meets.",
  },
  {
    name: "PoolAtLimit",
    runbook: "pods-and-pools",
    expr: [
      "(max by (nodepool, resource_type) (karpenter_nodepools_usage)",
      "/ (max by (nodepool, resource_type) (karpenter_nodepools_limit) > 0) > 0.9)",
      'and on () (max(karpenter_scheduler_unschedulable_pods_count{controller="provisioner"}) > 0)',
    ].join(" "),
    for: "10m",
    severity: "warning",
    summary:
      "NodePool {{ $labels.nodepool }} uses {{ $value | humanizePercentage }} of its limit for {{ $labels.resource_type }}, and pods wait.",
    description: "Raise spec.limits of the NodePool, or let the pods use another NodePool.",
  },
  {
    name: "PoolNotReady",
    runbook: "pods-and-pools",
    expr: 'max by (name, reason) (operator_nodepool_status_condition_count{type="Ready",status!="True"}) > 0',
    for: "10m",
    severity: "critical",
    summary: "NodePool {{ $labels.name }} is not ready: {{ $labels.reason }}.",
    description: "No node is launched from this NodePool. Its node class is the usual cause.",
  },
  {
    name: "NodeNeverJoins",
    runbook: "nodes",
    expr: 'count by (karpenter_sh_nodepool) (operator_nodeclaim_status_condition_current_status_seconds{type="Registered",status!="True"} > 600) > 0',
    for: "0m",
    severity: "warning",
    summary:
      "{{ $value }} instances of NodePool {{ $labels.karpenter_sh_nodepool }} run for 10 minutes without joining the cluster.",
    description: "After 15 minutes Karpenter ends such an instance and launches another one.",
  },
  {
    name: "NodeStuckLeaving",
    runbook: "nodes",
    expr: "max by (name) (operator_node_termination_current_time_seconds) > 1800",
    for: "5m",
    severity: "warning",
    summary: "Node {{ $labels.name }} has been leaving for {{ $value | humanizeDuration }}.",
    description: "A PodDisruptionBudget, a do-not-disrupt pod or a volume holds the drain.",
  },
  {
    name: "NoCapacity",
    runbook: "nodes",
    expr: "sum by (zone, capacity_type, reason) (increase(karpenter_cloudprovider_instance_launch_failures_total[15m])) > 10",
    for: "0m",
    severity: "info",
    summary:
      "{{ $labels.reason }} refused {{ $value | humanize }} launches ({{ $labels.capacity_type }}, {{ $labels.zone }}) within 15 minutes.",
    description: "More instance types, zones or capacity types give a launch more to choose from.",
  },
  {
    name: "InterruptionLag",
    runbook: "nodes",
    expr: "histogram_quantile(0.95, sum by (le) (rate(karpenter_interruption_message_queue_duration_seconds_bucket[10m]))) > 60",
    for: "5m",
    severity: "critical",
    summary: "Interruption messages wait {{ $value | humanizeDuration }} in the queue.",
    description: "A spot notice comes two minutes before the instance ends.",
  },
  {
    name: "EndsStopped",
    runbook: "disruption",
    expr: "max(karpenter_involuntary_ends_stopped) == 1",
    for: "0m",
    severity: "critical",
    summary: "Karpenter has stopped ending nodes that nobody asked to end.",
    description:
      "More nodes than --involuntary-disruption-limit would have ended within ten minutes.",
  },
  {
    name: "Churn",
    runbook: "disruption",
    expr: [
      "sum by (nodepool) (increase(karpenter_nodeclaims_created_total[1h]))",
      '> 2 * max by (nodepool) (karpenter_nodepools_usage{resource_type="nodes"}) > 0',
    ].join(" "),
    for: "30m",
    severity: "warning",
    summary: "NodePool {{ $labels.nodepool }} created more than twice its nodes within an hour.",
    description: "Nodes are launched and ended in a circle, or a workload comes and goes.",
  },
  {
    name: "CostJump",
    runbook: "money",
    expr: "sum(karpenter_nodepools_cost_total) > 1.5 * sum(karpenter_nodepools_cost_total offset 1d)",
    for: "30m",
    severity: "info",
    summary: "Nodes cost {{ $value | humanize }} $/h, half as much again as a day ago.",
    description: "The dashboard «Karpenter: fleet and money» shows which NodePool grew.",
  },
];
