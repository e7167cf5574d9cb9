/**
 * The implementation of metrics, in Prometheus' text format. Names get upstream's prefix unless they are unprefixed.
 * prom-client keeps counters and histograms. Metrics that are computed when they are read are not kept. A metric
 * without series is not shown, as in Go's client. Changing an undeclared metric, or using other labels, is a bug.
 */
import { Counter, Gauge, Histogram, Registry, Summary } from "prom-client";
import { assert } from "../../base/assert.ts";
import type { MetricSpec, Metrics, Series } from "../../base/metrics.ts";
import { within } from "../../base/within.ts";
import { exposition } from "./exposition.ts";
import { PROCESS_METRICS } from "./process-metrics.ts";

const METRICS_PREFIX = "karpenter_";
/** The quantiles of summaries. upstream: pkg/metrics/constants.go SummaryObjectives */
const QUANTILES = [0, 0.5, 0.9, 0.99, 1];

/** The metric build_info: its value is 1, and its labels contain the version. */
export const BUILD_INFO: MetricSpec = {
  name: "build_info",
  type: "gauge",
  help: "A metric with a constant '1' value labeled by version from which karpenter was built.",
  labels: ["version", "goversion", "goarch", "commit"],
};

type Kept = Counter | Gauge | Histogram | Summary;
type Labels = Readonly<Record<string, string>>;
type Reader = () => Series;

interface Declared {
  readonly spec: MetricSpec;
  readonly kept: Kept;
  readonly readers: Set<Reader>;
}

/** All metrics of the process, and their text for a scrape. */
export interface MetricsRegistry extends Metrics {
  /** Declares more metrics, such as a provider's. If a name is already declared, the first declaration is kept. */
  declare(specs: readonly MetricSpec[]): void;
  /** All metrics in Prometheus' text format. */
  render(): Promise<string>;
  /** The same text in small parts, some of them empty, because a large cluster has hundreds of megabytes. */
  parts(): AsyncIterable<string>;
  readonly contentType: string;
  /** The current values of one metric. A histogram has sums, counts and buckets. Empty: it has no series. */
  valuesOf(name: string): Promise<readonly MetricValue[]>;
}

/** One value of a metric. */
export interface MetricValue {
  /** The name as on `/metrics`. The names of a histogram end in `_sum`, `_count` or `_bucket`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** The name of the metric on `/metrics`. */
export function fullName({ name, unprefixed }: MetricSpec): string {
  return unprefixed === true ? name : METRICS_PREFIX + name;
}

/** Creates a registry with these metrics. If a name is declared twice, the first declaration is kept. */
export function createMetrics(
  specs: readonly MetricSpec[],
  version: string,
  commit: string,
): MetricsRegistry {
  const registry = new Registry();
  const declared = new Map<string, Declared>();
  const series = new SeriesIndex();

  function declare(more: readonly MetricSpec[]): void {
    for (const spec of more) {
      if (declared.has(spec.name)) continue;
      declared.set(spec.name, { spec, kept: keptOf(spec, registry), readers: new Set() });
    }
  }

  function find(name: string): Declared {
    const found = declared.get(name);
    assert(found !== undefined, `metric ${name} is not declared in any metrics.ts`);
    return found;
  }

  declare([BUILD_INFO, ...specs]);
  for (const { spec, value } of PROCESS_METRICS) {
    declare([spec]);
    find(spec.name).readers.add(() => [{ labels: {}, value: value() }]);
  }
  // The labels are upstream's, for dashboards. The value names Node.js, because there is no Go.
  const goversion = `node${process.versions.node}`;
  const build = find(BUILD_INFO.name).kept as Gauge;
  build.set({ version, goversion, goarch: process.arch, commit }, 1);

  return {
    contentType: registry.contentType,
    declare,
    render: async () => {
      const all: string[] = [];
      for await (const part of partsOf(declared.values(), registry)) all.push(part);
      return all.join("");
    },
    parts: () => partsOf(declared.values(), registry),
    valuesOf: async (name) => valuesOf(declared.get(name)),
    count: (name, labels, by = 1) => (find(name).kept as Counter).inc(labels, by),
    set: (name, labels, value) => {
      const { kept, spec } = find(name);
      if (!series.isNew(spec, labels, value)) return;
      (kept as Gauge).set(labels, value);
      series.add(spec, labels, value);
    },
    observe: (name, labels, value) =>
      (find(name).kept as Histogram | Summary).observe(labels, value),
    forget: (name, labels) => {
      const { kept } = find(name);
      for (const own of series.take(name, labels)) kept.remove(own);
    },
    read: (name, reader) => {
      const { readers } = find(name);
      readers.add(reader);
      return () => readers.delete(reader);
    },
  };
}

async function valuesOf(own: Declared | undefined): Promise<readonly MetricValue[]> {
  if (own === undefined) return [];
  const name = fullName(own.spec);
  if (own.readers.size > 0)
    return [...seriesOf(own.readers)].flatMap((one) =>
      one === undefined ? [] : [{ name, labels: one.labels, value: one.value }],
    );
  const { values } = await own.kept.get();
  return values.map((one) => ({
    name: "metricName" in one ? String(one.metricName ?? name) : name,
    labels: one.labels,
    value: one.value,
  }));
}

async function* partsOf(all: Iterable<Declared>, registry: Registry): AsyncIterable<string> {
  for (const { spec, readers } of all) {
    if (readers.size > 0) {
      yield* exposition(fullName(spec), spec, seriesOf(readers));
      continue;
    }
    const text = await registry.getSingleMetricAsString(fullName(spec));
    if (hasSeries(text)) yield `${text}\n`;
  }
}

/** Whether the text has more than the two lines about the metric itself. */
function hasSeries(text: string): boolean {
  return text.indexOf("\n", text.indexOf("\n") + 1) >= 0;
}

function* seriesOf(readers: ReadonlySet<Reader>): Series {
  for (const reader of readers) yield* reader();
}

/** One series of a gauge, with its last value. */
interface Known {
  readonly labels: Labels;
  readonly value: number;
}

/**
 * The series of gauges. prom-client can remove a series only by all of its labels. Most gauges are set again and again
 * to the same value, and prom-client is asked only for another one.
 */
class SeriesIndex {
  readonly #known = new Map<string, Map<string, Known>>();

  /** Whether the gauge has another value now, or labels that it should not have, which prom-client reports. */
  isNew({ name, labels: names }: MetricSpec, labels: Labels, value: number): boolean {
    if (Object.keys(labels).length !== names.length) return true;
    return this.#known.get(name)?.get(keyOf(names, labels))?.value !== value;
  }

  add({ name, labels: names }: MetricSpec, labels: Labels, value: number): void {
    within(this.#known, name, () => new Map()).set(keyOf(names, labels), { labels, value });
  }

  /** Removes and returns the label sets that have all of `wanted`. */
  take(name: string, wanted: Labels): readonly Labels[] {
    const known = this.#known.get(name) ?? new Map<string, Known>();
    const taken: Labels[] = [];
    for (const [key, { labels }] of known) {
      if (!Object.entries(wanted).every(([label, value]) => labels[label] === value)) continue;
      known.delete(key);
      taken.push(labels);
    }
    return taken;
  }
}

/** The values of the labels as one text, in the order in which the metric declares the labels. */
function keyOf(names: readonly string[], labels: Labels): string {
  let key = "";
  for (const name of names) key += `${labels[name] ?? ""}\u0000`;
  return key;
}

function keptOf(spec: MetricSpec, registry: Registry): Kept {
  const common = {
    name: fullName(spec),
    help: spec.help,
    labelNames: [...spec.labels],
    registers: [registry],
  };
  switch (spec.type) {
    case "counter":
      return new Counter(common);
    case "gauge": {
      const gauge = new Gauge(common);
      // prom-client shows 0 for a gauge without labels that was not set, which would be wrong.
      if (spec.labels.length === 0) gauge.remove();
      return gauge;
    }
    case "histogram":
      return new Histogram({
        ...common,
        ...(spec.buckets === undefined ? {} : { buckets: [...spec.buckets] }),
      });
    case "summary":
      return new Summary({ ...common, percentiles: QUANTILES });
  }
}
