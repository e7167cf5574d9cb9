/**
 * The metrics door's real side: every metric that a controller declares, registered under upstream's
 * prefix and rendered in Prometheus' text form. Moving one that nobody declared is a bug.
 */
import { Counter, Gauge, Histogram, Registry, Summary } from "prom-client";
import { assert } from "../base/assert.ts";
import type { MetricSpec, Metrics } from "../base/metrics.ts";

const PREFIX = "karpenter_";
/** upstream: pkg/metrics/constants.go SummaryObjectives */
const QUANTILES = [0, 0.5, 0.9, 0.99, 1];

/** controller-runtime's own, under their standard names. */
const RUNTIME_SPECS: readonly MetricSpec[] = [
  {
    name: "controller_runtime_reconcile_total",
    type: "counter",
    help: "Total number of reconciliations per controller",
    labels: ["controller", "result"],
  },
  {
    name: "controller_runtime_reconcile_errors_total",
    type: "counter",
    help: "Total number of reconciliation errors per controller",
    labels: ["controller"],
  },
  {
    name: "controller_runtime_reconcile_time_seconds",
    type: "histogram",
    help: "Length of time per reconciliation per controller",
    labels: ["controller"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
];

type Series = Counter | Gauge | Histogram | Summary;

export interface MetricsRegistry extends Metrics {
  /** Prometheus' text exposition format. */
  render(): Promise<string>;
  readonly contentType: string;
  /** For the manager: counts a reconcile. */
  reconciled(
    controller: string,
    result: "success" | "error" | "requeue_after",
    durationMs: number,
  ): void;
}

export function createMetrics(
  specs: readonly MetricSpec[],
  version: string,
  commit: string,
): MetricsRegistry {
  const registry = new Registry();
  const series = new Map<string, Series>();
  for (const spec of specs) series.set(spec.name, seriesOf(spec, PREFIX + spec.name, registry));
  for (const spec of RUNTIME_SPECS) series.set(spec.name, seriesOf(spec, spec.name, registry));
  const build = new Gauge({
    name: `${PREFIX}build_info`,
    help: "A metric with a constant '1' value labeled by version from which karpenter was built.",
    labelNames: ["version", "goversion", "goarch", "commit"],
    registers: [registry],
  });
  // There is no Go here: the labels stay so that dashboards find them, with the runtime's words.
  build.set(
    { version, goversion: `node${process.versions.node}`, goarch: process.arch, commit },
    1,
  );

  function find(name: string): Series {
    const found = series.get(name);
    assert(found !== undefined, `metric ${name} is not declared in any metrics.ts`);
    return found;
  }

  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    count: (name, labels, by = 1) => (find(name) as Counter).inc(labels, by),
    set: (name, labels, value) => (find(name) as Gauge).set(labels, value),
    observe: (name, labels, value) => (find(name) as Histogram | Summary).observe(labels, value),
    forget: (name, labels) => {
      const gauge = find(name) as Gauge & {
        hashMap?: Record<string, { labels: Record<string, string> }>;
      };
      for (const { labels: own } of Object.values(gauge.hashMap ?? {})) {
        if (Object.entries(labels).every(([key, value]) => own[key] === value)) gauge.remove(own);
      }
    },
    reconciled: (controller, result, durationMs) => {
      (find("controller_runtime_reconcile_total") as Counter).inc({ controller, result });
      if (result === "error") {
        (find("controller_runtime_reconcile_errors_total") as Counter).inc({ controller });
        return;
      }
      (find("controller_runtime_reconcile_time_seconds") as Histogram).observe(
        { controller },
        durationMs / 1_000,
      );
    },
  };
}

function seriesOf(spec: MetricSpec, name: string, registry: Registry): Series {
  const common = { name, help: spec.help, labelNames: [...spec.labels], registers: [registry] };
  switch (spec.type) {
    case "counter":
      return new Counter(common);
    case "gauge":
      return new Gauge(common);
    case "histogram":
      return new Histogram({
        ...common,
        ...(spec.buckets === undefined ? {} : { buckets: [...spec.buckets] }),
      });
    case "summary":
      return new Summary({ ...common, percentiles: QUANTILES });
  }
}
