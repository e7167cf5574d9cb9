/** What the fleet costs: now, over the time in which somebody looked, and by NodePool. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clockTime, percent, perHour, perMonth, plain } from "./format.ts";
import { type Column, Grid } from "./grid.tsx";
import { Bar, Empty } from "./pieces.tsx";
import { go } from "./place.ts";
import { views } from "./store.ts";
import type { MoneyRow, PricePoint } from "./wire.ts";

const COLUMNS: readonly Column<MoneyRow>[] = [
  { title: "NodePool", cell: ({ pool }) => plain(pool) },
  { title: "Capacity", cell: ({ capacity }) => capacity || "–" },
  { title: "Nodes", cell: ({ nodes }) => nodes, isNumber: true },
  {
    title: "Price",
    cell: ({ priceMicroUsdPerHour }) => perHour(priceMicroUsdPerHour),
    isNumber: true,
  },
  {
    title: "Share",
    isMinor: true,
    cell: ({ priceMicroUsdPerHour }) => {
      const all = views.money.value.head?.priceMicroUsdPerHour ?? 0;
      return (
        <Bar part={priceMicroUsdPerHour} whole={all} label={percent(priceMicroUsdPerHour, all)} />
      );
    },
  },
  {
    title: "Idle",
    isNumber: true,
    cell: ({ idleMicroUsdPerHour, priceMicroUsdPerHour }) =>
      `${perHour(idleMicroUsdPerHour)} (${percent(idleMicroUsdPerHour, priceMicroUsdPerHour)})`,
  },
  { title: "Price unknown", cell: ({ unpriced }) => unpriced || "", isNumber: true, isMinor: true },
];

export function MoneyPage() {
  const { head, rows } = views.money.value;
  const points = [...views.history.value.rows.values()].sort((a, b) => a.atMs - b.atMs);
  if (head === undefined) return <div class="page skeleton" />;
  const sorted = [...rows].sort(([, a], [, b]) => b.priceMicroUsdPerHour - a.priceMicroUsdPerHour);
  const idle = sorted.reduce((sum, [, row]) => sum + row.idleMicroUsdPerHour, 0);
  return (
    <div class="page">
      <div class="figures">
        <Figure value={perHour(head.priceMicroUsdPerHour)} says="nodes of Karpenter" />
        <Figure value={perMonth(head.priceMicroUsdPerHour)} says="if nothing changes (730 hours)" />
        <Figure
          value={percent(idle, head.priceMicroUsdPerHour)}
          says={`idle: ${perHour(idle)} for room that no pod requests`}
        />
        {head.unpriced > 0 && (
          <Figure
            value={String(head.unpriced)}
            says="nodes without a known price: not in the sum"
          />
        )}
      </div>
      <h2>Price over time</h2>
      {points.length < 2 ? (
        <Empty
          says="No history yet."
          next="It begins when a page looks, and grows while one does."
        />
      ) : (
        <>
          <p class="muted">
            Since {clockTime(points[0]?.atMs ?? 0)}, by the cluster's clock. While no page looks
            nothing is recorded.
          </p>
          <Chart points={points} />
        </>
      )}
      <h2>By NodePool</h2>
      {sorted.length === 0 ? (
        <Empty
          says="Karpenter has no node."
          next="Costs of nodes that Karpenter launched show here."
        />
      ) : (
        <Grid
          label="Costs by NodePool"
          rows={sorted}
          columns={COLUMNS}
          onOpen={(_, { pool }) => go({ about: `nodepool/${pool}` })}
        />
      )}
    </div>
  );
}

function Figure({ value, says }: { value: string; says: string }) {
  return (
    <p class="figure">
      <span class="value">{value}</span>
      <span class="muted">{says}</span>
    </p>
  );
}

const HEIGHT = 220;

function Chart({ points }: { points: readonly PricePoint[] }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const kinds = [...new Set(points.flatMap(({ parts }) => Object.keys(parts)))].sort();
  const data: uPlot.AlignedData = [
    points.map(({ atMs }) => atMs / 1_000),
    points.map((one) => one.priceMicroUsdPerHour / 1e6),
    ...kinds.map((kind) => points.map(({ parts }) => (parts[kind] ?? 0) / 1e6)),
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
        axes: [
          time,
          { ...axis, size: 72, values: (_, ticks) => ticks.map((tick) => perHour(tick * 1e6)) },
        ],
        series: [
          { value: (_, at) => (at === null ? "–" : clockTime(at * 1_000)) },
          { label: "all", stroke: colour("text"), width: 2, value: dollars, ...paths },
          ...kinds.map((kind, index) => ({
            label: kind,
            stroke: colour(`cat-${index + 1}`),
            width: 1.5,
            dash: index === 0 ? [] : [6, 4],
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
  }, [kinds.join()]);
  useEffect(() => {
    chart.current?.setData(data);
  }, [points]);
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
