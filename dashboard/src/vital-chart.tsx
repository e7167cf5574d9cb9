/** A small chart of one vital sign over the kept hours. The same in numbers stands in the table of the page. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clockTime } from "./format.ts";
import type { VitalPoint } from "./wire.ts";

const HEIGHT = 130;

/** A sign of how well the controller is, and how its values are written. */
export interface Vital {
  readonly title: string;
  readonly lines: readonly {
    readonly label: string;
    readonly of: (point: VitalPoint) => number | undefined;
  }[];
  readonly written: (value: number) => string;
}

export function VitalChart({ vital, points }: { vital: Vital; points: readonly VitalPoint[] }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const data: uPlot.AlignedData = [
    points.map(({ atMs }) => atMs / 1_000),
    ...vital.lines.map(({ of }) => points.map((point) => of(point) ?? null)),
  ];
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
    const axis = {
      stroke: colour("muted"),
      grid: { stroke: colour("surface-3"), width: 1 },
      ticks: { show: false },
    };
    const written = (value: number | null) => (value === null ? "–" : vital.written(value));
    chart.current = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: true, y: false } },
        scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1e-3)] } },
        axes: [
          {
            ...axis,
            values: (_, ticks) => ticks.map((tick) => clockTime(tick * 1_000)),
            space: 90,
          },
          { ...axis, size: 64, space: 32, values: (_, ticks) => ticks.map(written) },
        ],
        series: [
          {},
          ...vital.lines.map(({ label }, index) => ({
            label,
            stroke: colour(index === 0 ? "cat-1" : "error"),
            width: 1.5,
            dash: index === 0 ? [] : [6, 4],
            // What nobody measured is a gap; alone between two gaps a point is still seen.
            points: { show: points.length < 2 },
          })),
        ],
      },
      data,
      element,
    );
    const observer = new ResizeObserver(() =>
      chart.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [vital]);
  useEffect(() => {
    chart.current?.setData(data);
  }, [points, vital]);
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

/** The last that was measured. */
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
