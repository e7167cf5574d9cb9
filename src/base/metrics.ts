/**
 * The interface of metrics: how a metric is declared and changed. Controllers and providers declare theirs in a
 * `metrics.ts`. The implementation, `operator/metrics/metrics.ts`, registers them under the prefix `karpenter_`.
 * upstream: pkg/metrics/metrics.go
 */

/** The declaration of one metric. The reference page of metrics is generated from these. */
export interface MetricSpec {
  /** The name without the prefix `karpenter_`. If `unprefixed` is set, the whole name. */
  readonly name: string;
  /** Whether the name gets no prefix, because other programs have a metric with this name, too. */
  readonly unprefixed?: true;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, in the metric's unit. */
  readonly buckets?: readonly number[];
}

/** Bounds in seconds, for durations from milliseconds to minutes. */
export const DURATION_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60, 120, 150,
  300, 450, 600,
];

/** A list of `count` numbers. It starts with `from`, and each number is twice the previous one. */
export function doubling(from: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => from * 2 ** index);
}

/** One series of a metric whose values are computed when it is read. */
export interface Sample {
  /** Additional labels, in one object that many samples use. It must never change. */
  readonly shared?: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * All series of a metric whose values are computed when it is read. Undefined entries are pauses, in which other work
 * may run. Code that visits many objects pauses regularly, even if the objects have no series.
 */
export type Series = Iterable<Sample | undefined>;

/** Changes the declared counters, gauges and histograms. Names have no prefix. */
export interface Metrics {
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void;
  set(name: string, labels: Readonly<Record<string, string>>, value: number): void;
  /** Removes the series that have all of `labels`. */
  forget(name: string, labels: Readonly<Record<string, string>>): void;
  observe(name: string, labels: Readonly<Record<string, string>>, value: number): void;
  /**
   * Computes the values of a gauge or counter each time the metrics are read, so that they are never outdated and take
   * no memory. If a name has several readers, their series are added. Returns a function that removes this reader.
   */
  read(name: string, series: () => Series): () => void;
}
