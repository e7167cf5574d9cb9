/** A chart of the fleet's cost for the time in which the console was open. */
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { axisDollars, clockTime, perHour } from "./format.ts";
import type { Line } from "./price-lines.ts";
import { unit } from "./unit.ts";
import { fromZero, useChart } from "./use-chart.ts";
import type { PricePoint } from "./wire.ts";

/** Height of the chart in units. */
const HEIGHT = 220;
const SHARE_OF_WINDOW = 0.3;

/** The chart. Lines have steps, because a price is valid until the next one. */
export function PriceChart({
  points,
  lines,
}: {
  points: readonly PricePoint[];
  lines: readonly Line[];
}) {
  const data = useMemo<uPlot.AlignedData>(
    () => [
      points.map(({ atMs }) => atMs / 1_000),
      points.map((one) => one.priceMicroUsdPerHour / 1e6),
      ...lines.map(({ of }) =>
        points.map((point) => {
          const price = of(point);
          // An unknown price is a gap in the line.
          return price === undefined ? null : price / 1e6;
        }),
      ),
    ],
    [points, lines],
  );
  const box = useChart({
    height: HEIGHT,
    share: SHARE_OF_WINDOW,
    key: lines.map(({ label }) => label).join(),
    data,
    options: ({ colour, axis, time }) => {
      const dollars = (_: uPlot, value: number | null) =>
        perHour(value === null ? undefined : value * 1e6);
      const stepped = uPlot.paths.stepped?.({ align: 1 });
      const paths = stepped === undefined ? {} : { paths: stepped };
      return {
        cursor: { drag: { x: true, y: false } },
        scales: { y: { range: fromZero(1e-3) } },
        axes: [time, { ...axis, size: 72 * unit(), values: (_, ticks) => axisDollars(ticks) }],
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
      };
    },
  });
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
