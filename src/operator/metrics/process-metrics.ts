/** Metrics of the process itself, with the usual names of Prometheus clients, so that existing dashboards show them. */
import type { MetricSpec } from "../../base/metrics.ts";
import { liveHeapBytes } from "./live-heap.ts";

interface ProcessMetric {
  readonly spec: MetricSpec;
  readonly value: () => number;
}

function own(
  name: string,
  type: "counter" | "gauge",
  help: string,
  value: () => number,
): ProcessMetric {
  return { spec: { name, unprefixed: true, type, help, labels: [] }, value };
}

/** Metrics of the process, named as in Prometheus' Go client. */
export const PROCESS_METRICS: readonly ProcessMetric[] = [
  own("process_cpu_seconds_total", "counter", "CPU time used, in seconds.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }),
  own("process_resident_memory_bytes", "gauge", "Resident memory, in bytes.", () =>
    process.memoryUsage.rss(),
  ),
  // Upstream's performance suite drops all samples of a process without this metric.
  own(
    "go_gc_heap_live_bytes",
    "gauge",
    "Memory of live objects at the last full garbage collection, in bytes, under the name that Go programs give it.",
    liveHeapBytes,
  ),
  own(
    "process_start_time_seconds",
    "gauge",
    "Start time of the process, in seconds since 1970.",
    () => performance.timeOrigin / 1_000,
  ),
];
