/**
 * A small chart of one measure of the controller's health over the recorded hours. The table of the page has
 * its last, smallest and largest value.
 */
import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { unit } from "./unit.ts";
import { fromZero, useChart } from "./use-chart.ts";
import type { VitalPoint } from "./wire.ts";

/** Height of the chart in units. */
const HEIGHT = 130;
const SHARE_OF_WINDOW = 0.18;

/** A measure of the controller's health, and how its values are written. */
export interface Vital {
  readonly title: string;
  readonly lines: readonly {
    readonly label: string;
    readonly of: (point: VitalPoint) => number | undefined;
  }[];
  readonly written: (value: number) => string;
  /** The smallest step between two labels of the axis. Smaller differences are not written. */
  readonly step: number;
}

/** Steps of an axis, as multiples of the smallest step. */
const STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap((power) =>
  [1, 2, 5].map((one) => one * 10 ** power),
);

export function VitalChart({ vital, points }: { vital: Vital; points: readonly VitalPoint[] }) {
  const data = useMemo<uPlot.AlignedData>(
    () => [
      points.map(({ atMs }) => atMs / 1_000),
      ...vital.lines.map(({ of }) => points.map((point) => of(point) ?? null)),
    ],
    [points, vital],
  );
  const written = (value: number | null) => (value === null ? "–" : vital.written(value));
  const box = useChart({
    height: HEIGHT,
    share: SHARE_OF_WINDOW,
    key: vital.title,
    data,
    options: ({ colour, axis, time }) => ({
      legend: { show: false },
      cursor: { drag: { x: true, y: false } },
      scales: { y: { range: fromZero(vital.step) } },
      axes: [
        time,
        {
          ...axis,
          size: 64 * unit(),
          space: 32 * unit(),
          values: (_, ticks) => ticks.map(written),
          incrs: STEPS.map((one) => one * vital.step),
        },
      ],
      series: [
        {},
        ...vital.lines.map(({ label }, index) => ({
          label,
          stroke: colour(index === 0 ? "cat-1" : "error"),
          width: 1.5,
          dash: index === 0 ? [] : [6, 4],
          // A time without a measurement is a gap in the line. A single point is drawn as a dot,
          // because it makes no line.
          points: { show: points.length < 2 },
        })),
      ],
    }),
  });
  const now = vital.lines.map(
    ({ label, of }) => `${label} ${valueText(vital, lastOf(points, of))}`,
  );
  return (
    <figure class="vital">
      <figcaption>
        {vital.title}{" "}
        <span class="muted">
          {vital.lines.length === 1
            ? valueText(vital, lastOf(points, vital.lines[0]?.of))
            : now.join(", ")}
        </span>
      </figcaption>
      <div ref={box} role="img" aria-label={`${vital.title} over time: now ${now.join(", ")}`} />
    </figure>
  );
}

/** The last measured value. */
export function lastOf(
  points: readonly VitalPoint[],
  of: ((point: VitalPoint) => number | undefined) | undefined,
): number | undefined {
  const found = points.findLast((point) => of?.(point) !== undefined);
  return found === undefined ? undefined : of?.(found);
}

export function valueText(vital: Vital, value: number | undefined): string {
  return value === undefined ? "–" : vital.written(value);
}
