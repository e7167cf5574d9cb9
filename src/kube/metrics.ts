/**
 * What the manager, its queues, the election and the requests tell of themselves, under the names that
 * controller-runtime and client-go gave them: dashboards for any controller work with this one.
 */
import { DURATION_BUCKETS, type MetricSpec } from "../base/metrics.ts";

const MINUTE_BUCKETS = DURATION_BUCKETS.filter((bound) => bound <= 60);
/** 10 ns to 1,000 s, each ten times the one before. */
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
    "Total number of errors per controller after which it does not try again by itself.",
    CONTROLLER,
  ),
  spec(
    "controller_runtime_reconcile_panics_total",
    "counter",
    "Total number of reconciliations per controller that met a bug of our own.",
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
    "Most reconciliations of a controller at once.",
    CONTROLLER,
  ),
  spec(
    "controller_runtime_active_workers",
    "gauge",
    "Reconciliations of a controller under way.",
    CONTROLLER,
  ),
  spec("workqueue_depth", "gauge", "Requests that wait in a queue.", [...QUEUE, "priority"]),
  spec("workqueue_adds_total", "counter", "Total number of requests taken into a queue.", QUEUE),
  spec(
    "workqueue_retries_total",
    "counter",
    "Total number of requests that failed and are tried again.",
    QUEUE,
  ),
  spec(
    "workqueue_queue_duration_seconds",
    "histogram",
    "How long a request waits in a queue before it is worked on.",
    QUEUE,
    QUEUE_BUCKETS,
  ),
  spec(
    "workqueue_work_duration_seconds",
    "histogram",
    "How long the work on a request takes.",
    QUEUE,
    QUEUE_BUCKETS,
  ),
  spec(
    "workqueue_unfinished_work_seconds",
    "gauge",
    "Seconds that all work under way has taken so far. Growing: something hangs.",
    QUEUE,
  ),
  spec(
    "workqueue_longest_running_processor_seconds",
    "gauge",
    "Seconds that the longest work under way has taken so far.",
    QUEUE,
  ),
  spec("leader_election_master_status", "gauge", "1 while this replica holds the lease.", ["name"]),
  spec(
    "client_go_request_total",
    "counter",
    "Total number of requests to the API server, by the code of the answer.",
    ["code", "method"],
  ),
  spec(
    "client_go_request_duration_seconds",
    "histogram",
    "Time until the API server answers; of a watch, until it is open.",
    ["verb", "group", "version", "kind", "subresource"],
    MINUTE_BUCKETS,
  ),
];
