/** Metrics in memory: sums and values by name and labels. The labels must be those of the metric's declaration. */
import { assert } from "../base/assert.ts";
import { deepEqual } from "../base/json.ts";
import type { Series } from "../base/metrics.ts";
import type { World } from "../controllers/world.ts";

type Labels = Readonly<Record<string, string>>;

/** Records metrics, for tests. */
export interface FakeMetrics {
  readonly meter: World["metrics"];
  /** The sum or value of each metric, as `name{label=value}` → number. */
  readonly measured: Map<string, number>;
  /** Gauges that are computed when they are read, in the form of {@link measured}. */
  shown(): ReadonlyMap<string, number>;
}

/** Accepts only metrics that are declared. */
export function fakeMetrics(
  declared: readonly { readonly name: string; readonly labels?: readonly string[] }[],
): FakeMetrics {
  const measured = new Map<string, number>();
  const readers = new Set<readonly [string, () => Series]>();
  const series = (name: string, labels: Labels): string => {
    const known = declared.find((one) => one.name === name)?.labels;
    assert(
      deepEqual(known?.toSorted(), Object.keys(labels).sort()),
      `metric ${name} is declared with the labels ${known?.join(", ")}`,
    );
    return `${name}{${textsOf(labels).join(",")}}`;
  };
  const add = (name: string, labels: Labels, by = 1): void => {
    measured.set(series(name, labels), (measured.get(series(name, labels)) ?? 0) + by);
  };
  return {
    measured,
    meter: {
      count: add,
      observe: add,
      set: (name, labels, value) => measured.set(series(name, labels), value),
      read: (name, read) => {
        const reader = [name, read] as const;
        readers.add(reader);
        return () => readers.delete(reader);
      },
      forget: (name, labels) => {
        for (const key of measured.keys()) {
          const named = key.startsWith(`${name}{`);
          if (named && textsOf(labels).every((one) => key.includes(one))) measured.delete(key);
        }
      },
    },
    shown: () => {
      const values = new Map<string, number>();
      for (const [name, read] of readers)
        for (const sample of read())
          if (sample !== undefined)
            values.set(series(name, { ...sample.shared, ...sample.labels }), sample.value);
      return values;
    },
  };
}

function textsOf(labels: Labels): readonly string[] {
  return Object.entries(labels).map(([label, value]) => `${label}=${value}`);
}
