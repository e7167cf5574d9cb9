/**
 * The metrics door: how a metric is declared and moved. Controllers and providers keep a `metrics.ts`
 * with what they move; `operator/metrics/metrics.ts` is the real side, which registers them all under the prefix
 * `karpenter_`. upstream: pkg/metrics/metrics.go
 */

/** Declares one metric; the reference page is generated from these. */
export interface MetricSpec {
  /** Without the prefix, unless `unprefixed`. */
  readonly name: string;
  /** The name is whole: others have metrics of this name too. */
  readonly unprefixed?: true;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  readonly help: string;
  readonly labels: readonly string[];
  /** Histograms: upper bounds in the metric's unit. */
  readonly buckets?: readonly number[];
}

/** Seconds; for what takes from milliseconds to minutes. */
export const DURATION_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60, 120, 150,
  300, 450, 600,
];

/** `from`, then doubled `count - 1` times. */
export function doubling(from: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => from * 2 ** index);
}

/** One series of a metric that is read off the present. */
export interface Sample {
  /** Further labels that many samples have in common: the same object each time, never changed. */
  readonly shared?: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * All series of a metric that is read off the present. Undefined: others may have their turn now. Whoever goes through
 * many objects says it after so many, whether they have a series or not: a hundred thousand nodes may have none.
 */
export type Series = Iterable<Sample | undefined>;

/** Moves counters, gauges and histograms that were declared. Names without the prefix. */
export interface Metrics {
  count(name: string, labels: Readonly<Record<string, string>>, by?: number): void;
  set(name: string, labels: Readonly<Record<string, string>>, value: number): void;
  /** Forgets the series that carry all of `labels`. */
  forget(name: string, labels: Readonly<Record<string, string>>): void;
  observe(name: string, labels: Readonly<Record<string, string>>, value: number): void;
  /**
   * A gauge or counter that is read off whenever somebody looks: what stands for each of ten thousand pods
   * is then kept nowhere and never old. Several readers of one name add up. Returns "stop".
   */
  read(name: string, series: () => Series): () => void;
}
