/** What the fleet cost over the time in which somebody looked, as lines. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { axisDollars, clockTime, perHour } from "./format.ts";
import type { PricePoint } from "./wire.ts";

const HEIGHT = 220;

/** One line of the chart. */
export interface Line {
  readonly label: string;
  readonly of: (point: PricePoint) => number | undefined;
  readonly isDashed?: boolean;
}

/** Steps of prices: a price holds until the next one. */
export function PriceChart({
  points,
  lines,
}: {
  points: readonly PricePoint[];
  lines: readonly Line[];
}) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const data: uPlot.AlignedData = [
    points.map(({ atMs }) => atMs / 1_000),
    points.map((one) => one.priceMicroUsdPerHour / 1e6),
    ...lines.map(({ of }) =>
      points.map((point) => {
        const price = of(point);
        // What nobody knew is a gap.
        return price === undefined ? null : price / 1e6;
      }),
    ),
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
    const dollars = (_: uPlot, value: number | null) =>
      perHour(value === null ? undefined : value * 1e6);
    // A price holds until the next one.
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    const paths = stepped === undefined ? {} : { paths: stepped };
    const time: uPlot.Axis = {
      ...axis,
      values: (_, ticks) => ticks.map((tick) => clockTime(tick * 1_000)),
      space: 90,
    };
    chart.current = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        cursor: { drag: { x: true, y: false } },
        scales: { y: { range: (_, __, most) => [0, Math.max(0.001, most * 1.1)] } },
        axes: [time, { ...axis, size: 72, values: (_, ticks) => axisDollars(ticks) }],
        series: [
          { value: (_, at) => (at === null ? "–" : clockTime(at * 1_000)) },
          { label: "all", stroke: colour("text"), width: 2, value: dollars, ...paths },
          ...lines.map(({ label, isDashed }, index) => ({
            label,
            stroke: colour(`cat-${(index % 8) + 1}`),
            width: 1.5,
            dash: isDashed === true ? [2, 4] : index === 0 ? [] : [6, 4],
            value: dollars,
            ...paths,
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
  }, [lines.map(({ label }) => label).join()]);
  useEffect(() => {
    chart.current?.setData(data);
  }, [points, lines]);
  const last = points.at(-1);
  return (
    <div
      ref={box}
      class="chart"
      role="img"
      aria-label={`Price over time, now ${perHour(last?.priceMicroUsdPerHour)}`}
    />
  );
}
