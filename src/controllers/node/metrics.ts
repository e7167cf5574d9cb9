/** Metrics of terminated nodes and evicted pods. upstream: pkg/controllers/node/termination/metrics.go */
import { doubling, type MetricSpec } from "../../base/metrics.ts";

const HOUR = 3_600;

/** Metrics of terminations, drains and evictions. */
export const NODE_METRICS: readonly MetricSpec[] = [
  {
    name: "nodes_terminated_total",
    type: "counter",
    help: "Number of nodes terminated, by owning nodepool.",
    labels: ["nodepool", "zone"],
  },
  {
    name: "nodes_drained_total",
    type: "counter",
    help: "Number of nodes drained, by owning nodepool.",
    labels: ["nodepool"],
  },
  {
    name: "nodes_termination_duration_seconds",
    type: "summary",
    help: "Time from the deletion of a node until its finalizer is removed.",
    labels: ["nodepool"],
  },
  {
    name: "nodes_lifetime_duration_seconds",
    type: "histogram",
    help: "Age of nodes when they were terminated.",
    labels: ["nodepool"],
    buckets: [
      0.25 * HOUR,
      0.5 * HOUR,
      ...doubling(HOUR, 6),
      48 * HOUR,
      96 * HOUR,
      360 * HOUR,
      720 * HOUR,
    ],
  },
  {
    name: "pods_eviction_requests_total",
    type: "counter",
    help: "Number of eviction requests, by the HTTP status code of the response.",
    labels: ["code"],
  },
  {
    name: "pods_drained_total",
    type: "counter",
    help: "Number of pods evicted or deleted by draining, by reason.",
    labels: ["reason"],
  },
];
