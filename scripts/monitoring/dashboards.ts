/**
 * The three dashboards, as data: fleet and cost, disruption and decisions, health of the controller. They read
 * only metrics that the program serves. `npm run test:prometheus` runs each query on a real Prometheus.
 */
import type { Dashboard, GrafanaPanel, Query } from "./panels.ts";

/** Title and unit of a panel. */
type Heading = readonly [title: string, unit: string];

const POOL = 'nodepool=~"$nodepool"';

/** Requests of all pods, DaemonSets included, divided by the allocatable amount of all nodes. */
function requested(resource: "cpu" | "memory", by = ""): string {
  const of = `resource_type="${resource}",${POOL}`;
  return `sum${by}(karpenter_nodes_total_pod_requests{${of}}) / sum${by}(karpenter_nodes_allocatable{${of}})`;
}

function increase(metric: string, by: string, legend: string): Query {
  return { expr: `sum by (${by}) (increase(${metric}[$__rate_interval]))`, legend };
}

/** Two quantiles of a histogram. */
function quantiles(histogram: string, by?: string): readonly Query[] {
  const labels = by === undefined ? "le" : `le, ${by}`;
  const name = by === undefined ? "" : ` {{${by}}}`;
  return [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (${labels}) (rate(${histogram}_bucket[$__rate_interval])))`,
    legend: `p${quantile * 100}${name}`,
  }));
}

function stat([title, unit]: Heading, expr: string, description: string): GrafanaPanel {
  return { title, description, kind: "stat", unit, queries: [{ expr }] };
}

function time(
  [title, unit]: Heading,
  description: string,
  ...queries: readonly Query[]
): GrafanaPanel {
  return { title, description, kind: "timeseries", unit, queries };
}

function stacked(
  heading: Heading,
  description: string,
  ...queries: readonly Query[]
): GrafanaPanel {
  return { ...time(heading, description, ...queries), isStacked: true };
}

const COST = `karpenter_nodepools_cost_total{${POOL}}`;

const FLEET: Dashboard = {
  name: "fleet",
  title: "Karpenter: fleet and money",
  description: "What runs, how full it is, what it costs, and what waits.",
  rows: [
    {
      title: "Now",
      panels: [
        stat(
          ["Nodes", "none"],
          `sum(karpenter_nodepools_usage{resource_type="nodes",${POOL}})`,
          "Nodes of the chosen NodePools.",
        ),
        stat(
          ["Cost", "currencyUSD"],
          `sum(${COST})`,
          "Dollars an hour at the prices we know. No bill.",
        ),
        stat(
          ["Cost a month", "currencyUSD"],
          `730 * sum(${COST})`,
          "Dollars for 730 hours, were the fleet as it is now.",
        ),
        stat(
          ["CPU requested", "percentunit"],
          requested("cpu"),
          "Requests of pods, daemons included.",
        ),
        stat(
          ["Memory requested", "percentunit"],
          requested("memory"),
          "Requests of pods, daemons included.",
        ),
        stat(
          ["Pods that wait", "none"],
          "count(karpenter_pods_unbound_time_seconds) or vector(0)",
          "Pods without a node, of all NodePools.",
        ),
      ],
    },
    {
      title: "Money",
      panels: [
        stacked(["Cost by NodePool", "currencyUSD"], "Dollars an hour.", {
          expr: `sum by (nodepool) (${COST})`,
          legend: "{{nodepool}}",
        }),
        time(
          ["Cost of CPU that nobody requests", "currencyUSD"],
          "Dollars an hour: the cost of a NodePool times the share of its CPU without requests.",
          {
            expr: `sum by (nodepool) (${COST}) * (1 - ${requested("cpu", " by (nodepool) ")})`,
            legend: "{{nodepool}}",
          },
        ),
        time(
          ["Saved by consolidation since the start", "currencyUSD"],
          "Dollars an hour, of all commands since Karpenter started: as predicted, and as it came to.",
          {
            expr: "sum by (estimate) (karpenter_voluntary_disruption_savings_dollars_sum)",
            legend: "{{estimate}}",
          },
        ),
        stacked(["Nodes by capacity type", "none"], "Spot, on-demand, reserved.", {
          expr: `count by (capacity_type) (karpenter_nodes_allocatable{resource_type="cpu",${POOL}})`,
          legend: "{{capacity_type}}",
        }),
      ],
    },
    {
      title: "Fleet",
      panels: [
        time(
          ["Requested by NodePool", "percentunit"],
          "Requests of pods, daemons included, as a share of what nodes offer.",
          { expr: requested("cpu", " by (nodepool) "), legend: "{{nodepool}} CPU" },
          { expr: requested("memory", " by (nodepool) "), legend: "{{nodepool}} memory" },
        ),
        {
          ...time(["Use of limits", "percentunit"], "Use as a share of spec.limits.", {
            expr: `max by (nodepool, resource_type) (karpenter_nodepools_usage{${POOL}}) / (max by (nodepool, resource_type) (karpenter_nodepools_limit{${POOL}}) > 0)`,
            legend: "{{nodepool}} {{resource_type}}",
          }),
        },
        stacked(["Instance types", "none"], "The 15 types with most nodes.", {
          expr: `topk(15, count by (instance_type) (karpenter_nodes_allocatable{resource_type="cpu",${POOL}}))`,
          legend: "{{instance_type}}",
        }),
        stacked(["Zones", "none"], "Nodes by zone.", {
          expr: `count by (zone) (karpenter_nodes_allocatable{resource_type="cpu",${POOL}})`,
          legend: "{{zone}}",
        }),
        stacked(["Pods by phase", "none"], "Pods of the whole cluster.", {
          expr: "count by (phase) (karpenter_pods_state)",
          legend: "{{phase}}",
        }),
        {
          title: "NodePools",
          description: "Nodes and cost an hour.",
          kind: "table",
          unit: "none",
          queries: [
            {
              expr: `sum by (nodepool) (karpenter_nodepools_usage{resource_type="nodes",${POOL}})`,
            },
            { expr: `sum by (nodepool) (${COST})` },
          ],
        },
      ],
    },
  ],
};

const DISRUPTION: Dashboard = {
  name: "disruption",
  title: "Karpenter: disruption and decisions",
  description: "What was launched and ended, why, and what holds a node.",
  rows: [
    {
      title: "Now",
      panels: [
        stat(
          ["Could be disrupted", "none"],
          "sum(karpenter_voluntary_disruption_eligible_nodes)",
          "Nodes that a disruption method would take if budgets allowed.",
        ),
        stat(
          ["Budgets allow", "none"],
          `sum(min by (nodepool) (karpenter_nodepools_allowed_disruptions{${POOL}}))`,
          "Nodes that the tightest budget of each NodePool allows at once.",
        ),
        stat(
          ["Leaving", "none"],
          "count(operator_node_termination_current_time_seconds) or vector(0)",
          "Nodes that are being drained.",
        ),
        stat(
          ["Ends stopped", "none"],
          "max(karpenter_involuntary_ends_stopped)",
          "1 while the brake stops ends that nobody asked for.",
        ),
      ],
    },
    {
      title: "Flow",
      panels: [
        stacked(
          ["NodeClaims created", "none"],
          "By reason.",
          increase(`karpenter_nodeclaims_created_total{${POOL}}`, "reason", "{{reason}}"),
        ),
        stacked(
          ["NodeClaims disrupted", "none"],
          "By reason.",
          increase(`karpenter_nodeclaims_disrupted_total{${POOL}}`, "reason", "{{reason}}"),
        ),
        stacked(
          ["Commands", "none"],
          "Disruption commands that were carried out.",
          increase(
            "karpenter_voluntary_disruption_decisions_total",
            "decision, reason",
            "{{decision}} {{reason}}",
          ),
        ),
        time(
          ["Nodes", "none"],
          "Nodes that registered and nodes that ended.",
          increase(`karpenter_nodes_created_total{${POOL}}`, "nodepool", "{{nodepool}} registered"),
          increase(`karpenter_nodes_terminated_total{${POOL}}`, "nodepool", "{{nodepool}} ended"),
        ),
        stacked(
          ["Pods on disrupted nodes", "none"],
          "By reason.",
          increase(`karpenter_pods_disruption_initiated_total{${POOL}}`, "reason", "{{reason}}"),
        ),
        stacked(
          ["Evictions", "none"],
          "By the API server's answer. 429: a PodDisruptionBudget said no.",
          increase("karpenter_pods_eviction_requests_total", "code", "{{code}}"),
        ),
      ],
    },
    {
      title: "Budgets and holds",
      panels: [
        time(
          ["Budgets", "none"],
          "Nodes that budgets allow at once, and nodes that count against them.",
          {
            expr: `min by (nodepool) (karpenter_nodepools_allowed_disruptions{${POOL}})`,
            legend: "{{nodepool}} allowed",
          },
          {
            expr: `max by (nodepool) (karpenter_nodepools_nodes_consuming_budgets{${POOL}})`,
            legend: "{{nodepool}} counted",
          },
        ),
        time(["Could be disrupted", "none"], "By method.", {
          expr: "sum by (reason) (karpenter_voluntary_disruption_eligible_nodes)",
          legend: "{{reason}}",
        }),
        time(
          ["Time to drain a node", "s"],
          "From a node's deletion until its finalizer is off.",
          ...[0.5, 0.99].map((quantile) => ({
            expr: `max(karpenter_nodes_termination_duration_seconds{quantile="${quantile}",${POOL}})`,
            legend: `p${quantile * 100}`,
          })),
        ),
        time(
          ["Time to find a command", "s"],
          "By method.",
          ...quantiles(
            "karpenter_voluntary_disruption_decision_evaluation_duration_seconds",
            "reason",
          ),
        ),
      ],
    },
    {
      title: "The cloud",
      panels: [
        stacked(
          ["Launches refused", "none"],
          "By reason and zone.",
          increase(
            "karpenter_cloudprovider_instance_launch_failures_total",
            "reason, zone",
            "{{reason}} {{zone}}",
          ),
        ),
        stacked(
          ["Interruption messages", "none"],
          "By kind.",
          increase(
            "karpenter_interruption_received_messages_total",
            "message_type",
            "{{message_type}}",
          ),
        ),
      ],
    },
  ],
};

const HEALTH: Dashboard = {
  name: "health",
  title: "Karpenter: health of the controller",
  description: "Whether the controller sees, decides and acts in time.",
  rows: [
    {
      title: "Now",
      panels: [
        stat(
          ["View complete", "none"],
          "max(karpenter_cluster_state_synced)",
          "1 while every Node and NodeClaim is in the view.",
        ),
        stat(
          ["Pods without a place", "none"],
          'max(karpenter_scheduler_unschedulable_pods_count{controller="provisioner"})',
          "Of the last planning pass.",
        ),
        stat(["Memory", "bytes"], "max(process_resident_memory_bytes)", "Of the process."),
        stat(
          ["CPU", "none"],
          "sum(rate(process_cpu_seconds_total[$__rate_interval]))",
          "Cores in use.",
        ),
        stat(
          ["Up for", "s"],
          "time() - max(process_start_time_seconds)",
          "Since the process started.",
        ),
        {
          ...stat(["Version", "none"], "max by (version) (karpenter_build_info)", "What runs."),
          queries: [{ expr: "max by (version) (karpenter_build_info)", legend: "{{version}}" }],
        },
      ],
    },
    {
      title: "Deciding",
      panels: [
        time(
          ["Planning pass", "s"],
          "Duration of planning passes.",
          ...quantiles("karpenter_scheduler_scheduling_duration_seconds", "controller"),
        ),
        time(
          ["From pod to node", "s"],
          "From a pod's creation until it is bound to a node.",
          ...quantiles("karpenter_pods_bound_duration_seconds"),
        ),
        time(
          ["View incomplete for", "s"],
          "Nothing is decided in this time.",
          { expr: "max(karpenter_cluster_state_unsynced_time_seconds)", legend: "view" },
          { expr: "max(karpenter_scheduler_unfinished_work_seconds)", legend: "pass under way" },
        ),
        time(["Oldest pod that waits", "s"], "By namespace.", {
          expr: "max by (namespace) (karpenter_pods_unbound_time_seconds)",
          legend: "{{namespace}}",
        }),
      ],
    },
    {
      title: "Acting",
      panels: [
        time(["Reconciles a second", "none"], "By controller.", {
          expr: "sum by (controller) (rate(controller_runtime_reconcile_total[$__rate_interval]))",
          legend: "{{controller}}",
        }),
        time(["Errors of reconciles a second", "none"], "By controller.", {
          expr: "sum by (controller) (rate(controller_runtime_reconcile_errors_total[$__rate_interval])) or vector(0)",
          legend: "{{controller}}",
        }),
        time(["Longest reconciles", "s"], "99th percentile by controller.", {
          expr: "topk(10, histogram_quantile(0.99, sum by (le, controller) (rate(controller_runtime_reconcile_time_seconds_bucket[$__rate_interval]))))",
          legend: "{{controller}}",
        }),
        time(["Requests that wait", "none"], "By controller.", {
          expr: "sum by (name) (workqueue_depth)",
          legend: "{{name}}",
        }),
        time(["Wait in the queue", "s"], "99th percentile by controller.", {
          expr: "topk(10, histogram_quantile(0.99, sum by (le, name) (rate(workqueue_queue_duration_seconds_bucket[$__rate_interval]))))",
          legend: "{{name}}",
        }),
      ],
    },
    {
      title: "Asking",
      panels: [
        time(["Requests to the API server a second", "none"], "By the code of the answer.", {
          expr: "sum by (code) (rate(client_go_request_total[$__rate_interval]))",
          legend: "{{code}}",
        }),
        time(["Calls of the cloud", "s"], "99th percentile by method.", {
          expr: "histogram_quantile(0.99, sum by (le, method) (rate(karpenter_cloudprovider_duration_seconds_bucket[$__rate_interval])))",
          legend: "{{method}}",
        }),
        time(["Errors of the cloud a second", "none"], "By method and error.", {
          expr: "sum by (method, error) (rate(karpenter_cloudprovider_errors_total[$__rate_interval]))",
          legend: "{{method}} {{error}}",
        }),
        time(["Requests to AWS a second", "none"], "By service and call.", {
          expr: "sum by (service, action) (rate(aws_sdk_go_request_total[$__rate_interval]))",
          legend: "{{service}} {{action}}",
        }),
      ],
    },
  ],
};

export const DASHBOARDS: readonly Dashboard[] = [FLEET, DISRUPTION, HEALTH];
