/**
 * Metrics of the manager, its queues, the leader election and requests. The names are those of controller-runtime and
 * client-go, so dashboards for other controllers work.
 */
import { DURATION_BUCKETS, type MetricSpec } from "../base/metrics.ts";

const MINUTE_BUCKETS = DURATION_BUCKETS.filter((bound) => bound <= 60);
/** Bounds from 10 ns to 1,000 s, in powers of ten. */
const QUEUE_BUCKETS = Array.from({ length: 12 }, (_, index) => Number(`1e${index - 8}`));

function spec(
  name: string,
  type: MetricSpec["type"],
  help: string,
  labels: readonly string[],
  buckets?: readonly number[],
): MetricSpec {
  const common = { name, unprefixed: true as const, type, help, labels };
  return buckets === undefined ? common : { ...common, buckets };
}

const CONTROLLER = ["controller"];
const QUEUE = ["controller", "name"];

/**
 * The declarations of these metrics. Their names are those of controller-runtime and client-go, so that existing
 * dashboards work.
 */
export const KUBE_METRICS: readonly MetricSpec[] = [
  spec(
    "controller_runtime_reconcile_total",
    "counter",
    "Total number of reconciliations per controller.",
    ["controller", "result"],
  ),
  spec(
    "controller_runtime_reconcile_errors_total",
    "counter",
    "Total number of reconciliation errors per controller.",
    CONTROLLER,
  ),
  spec(
    "controller_runtime_terminal_reconcile_errors_total",
    "counter",
    "Total number of terminal errors per controller: errors without a retry.",
    CONTROLLER,
  ),
  spec(
    "controller_runtime_reconcile_panics_total",
    "counter",
    "Total number of reconciliations per controller that ended in a failed assertion.",
    CONTROLLER,
  ),
  spec(
    "controller_runtime_reconcile_time_seconds",
    "histogram",
    "Length of time per reconciliation per controller.",
    CONTROLLER,
    MINUTE_BUCKETS,
  ),
  spec(
    "controller_runtime_max_concurrent_reconciles",
    "gauge",
    "Largest number of reconciliations that a controller runs at the same time.",
    CONTROLLER,
  ),
  spec(
    "controller_runtime_active_workers",
    "gauge",
    "Number of running reconciliations of a controller.",
    CONTROLLER,
  ),
  spec("workqueue_depth", "gauge", "Number of items that wait in a queue.", [...QUEUE, "priority"]),
  spec("workqueue_adds_total", "counter", "Total number of items added to a queue.", QUEUE),
  spec(
    "workqueue_retries_total",
    "counter",
    "Total number of items that failed and are retried.",
    QUEUE,
  ),
  spec(
    "workqueue_queue_duration_seconds",
    "histogram",
    "How long an item waits in a queue before its processing starts.",
    QUEUE,
    QUEUE_BUCKETS,
  ),
  spec(
    "workqueue_work_duration_seconds",
    "histogram",
    "How long the processing of an item takes.",
    QUEUE,
    QUEUE_BUCKETS,
  ),
  spec(
    "workqueue_unfinished_work_seconds",
    "gauge",
    "Seconds that all running items have taken so far. If it only grows, something hangs.",
    QUEUE,
  ),
  spec(
    "workqueue_longest_running_processor_seconds",
    "gauge",
    "Seconds that the longest running item has taken so far.",
    QUEUE,
  ),
  spec("leader_election_master_status", "gauge", "1 while this replica holds the lease.", ["name"]),
  spec(
    "client_go_request_total",
    "counter",
    "Total number of requests to the API server, by status code of the response.",
    ["code", "method"],
  ),
  spec(
    "client_go_request_duration_seconds",
    "histogram",
    "Time until the API server responds; for a watch, until it is open.",
    ["verb", "group", "version", "kind", "subresource"],
    MINUTE_BUCKETS,
  ),
];
