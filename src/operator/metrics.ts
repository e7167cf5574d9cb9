/**
 * The metrics door's real side: every metric that a controller declares, registered under upstream's
 * prefix and rendered in Prometheus' text form. Moving one that nobody declared is a bug.
 */
import { Counter, Gauge, Histogram, Registry, Summary } from "prom-client";
import { assert } from "../base/assert.ts";
import type { MetricSpec, Metrics } from "../base/metrics.ts";

export const METRICS_PREFIX = "karpenter_";
/** upstream: pkg/metrics/constants.go SummaryObjectives */
const QUANTILES = [0, 0.5, 0.9, 0.99, 1];

/** controller-runtime's own, under their standard names. */
export const RUNTIME_METRICS: readonly MetricSpec[] = [
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
type Labels = Readonly<Record<string, string>>;

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
  const kept = new Kept();
  for (const spec of specs)
    series.set(spec.name, seriesOf(spec, METRICS_PREFIX + spec.name, registry));
  for (const spec of RUNTIME_METRICS) series.set(spec.name, seriesOf(spec, spec.name, registry));
  const build = new Gauge({
    name: `${METRICS_PREFIX}build_info`,
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
    count: (name, labels, by = 1) => {
      (find(name) as Counter).inc(labels, by);
      kept.add(name, labels);
    },
    set: (name, labels, value) => {
      (find(name) as Gauge).set(labels, value);
      kept.add(name, labels);
    },
    observe: (name, labels, value) => {
      (find(name) as Histogram | Summary).observe(labels, value);
      kept.add(name, labels);
    },
    forget: (name, labels) => {
      const one = find(name);
      for (const own of kept.take(name, labels)) one.remove(own);
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

/** Which series there are: prom-client removes one by all of its labels only. */
class Kept {
  readonly #labels = new Map<string, Map<string, Labels>>();

  add(name: string, labels: Labels): void {
    const key = JSON.stringify(labels, Object.keys(labels).sort());
    const known = this.#labels.get(name);
    if (known === undefined) this.#labels.set(name, new Map([[key, labels]]));
    else if (!known.has(key)) known.set(key, labels);
  }

  /** Those that carry all of `wanted`; they are no longer kept. */
  take(name: string, wanted: Labels): readonly Labels[] {
    const known = this.#labels.get(name) ?? new Map<string, Labels>();
    const taken: Labels[] = [];
    for (const [key, labels] of known) {
      if (!Object.entries(wanted).every(([label, value]) => labels[label] === value)) continue;
      known.delete(key);
      taken.push(labels);
    }
    return taken;
  }
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
