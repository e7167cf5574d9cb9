/** The controller's own metrics over the recorded hours, as charts and as a table. */
import { useMemo } from "preact/hooks";
import { clockTime, counted } from "./format.ts";
import { Empty, Loading } from "./pieces.tsx";
import { views } from "./store.ts";
import { lastOf, type Vital, VitalChart, valueText } from "./vital-chart.tsx";
import type { VitalPoint } from "./wire.ts";

const seconds = (value: number): string =>
  value === 0 ? "0" : value < 1 ? `${Math.round(value * 1_000)} ms` : `${digits(value)} s`;
const each = (value: number): string => `${digits(value)}/s`;

function digits(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : 0 });
}

const MIB = 2 ** 20;

const VITALS: readonly Vital[] = [
  {
    title: "Watch lag",
    lines: [{ label: "state behind by", of: ({ unsyncedS }) => unsyncedS }],
    written: seconds,
    step: 1e-3,
  },
  {
    title: "Queued",
    lines: [{ label: "items", of: ({ queued }) => queued }],
    written: digits,
    step: 1,
  },
  {
    title: "Wait in queues",
    lines: [{ label: "mean", of: ({ waitedS }) => waitedS }],
    written: seconds,
    step: 1e-3,
  },
  {
    title: "Planning pass",
    lines: [{ label: "mean", of: ({ plannedS }) => plannedS }],
    written: seconds,
    step: 1e-3,
  },
  {
    title: "API calls",
    lines: [
      { label: "all", of: ({ apiCalls }) => apiCalls },
      { label: "errors", of: ({ apiErrors }) => apiErrors },
    ],
    written: each,
    step: 0.01,
  },
  {
    title: "Cloud calls",
    lines: [
      { label: "all", of: ({ cloudCalls }) => cloudCalls },
      { label: "errors", of: ({ cloudErrors }) => cloudErrors },
    ],
    written: each,
    step: 0.01,
  },
  {
    title: "Leader",
    lines: [{ label: "leads", of: ({ leader }) => leader }],
    written: (value) => (value > 0.5 ? "yes" : "no"),
    step: 1,
  },
  {
    title: "Memory",
    lines: [{ label: "resident", of: ({ memoryBytes }) => memoryBytes }],
    written: (value) => `${Math.round(value / MIB)} MiB`,
    step: MIB,
  },
];

export function VitalsOfController() {
  const { head, rows } = views.vitals.value;
  const points = useMemo(() => [...rows.values()].sort((a, b) => a.atMs - b.atMs), [rows]);
  if (head === undefined) return <Loading what="the controller's metrics" />;
  if (!head.isKnown)
    return (
      <Empty
        says="The controller's metrics cannot be read from here."
        next="They show in the console of the controller itself (--console-port), and in the sandbox."
      />
    );
  const [first] = points;
  if (first === undefined)
    return (
      <p class="muted">The first values come within half a minute of the controller's start.</p>
    );
  return (
    <>
      <p class="muted">
        Since {clockTime(first.atMs)}, by the cluster's clock: {counted(points.length, "moment")}.
      </p>
      <div class="vitals">
        {VITALS.map((vital) => (
          <VitalChart key={vital.title} vital={vital} points={points} />
        ))}
      </div>
      <Numbers points={points} />
    </>
  );
}

function Numbers({ points }: { points: readonly VitalPoint[] }) {
  return (
    <table>
      <caption>The same in numbers</caption>
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Last</th>
          <th scope="col">Least</th>
          <th scope="col">Most</th>
        </tr>
      </thead>
      <tbody>
        {VITALS.flatMap((vital) =>
          vital.lines.map(({ label, of }) => {
            const values = points.flatMap((point) => of(point) ?? []);
            const text = (value: number | undefined) => valueText(vital, value);
            return (
              <tr key={`${vital.title} ${label}`}>
                <th scope="row">
                  {vital.title}, {label}
                </th>
                <td>{text(lastOf(points, of))}</td>
                <td>{text(values.length === 0 ? undefined : Math.min(...values))}</td>
                <td>{text(values.length === 0 ? undefined : Math.max(...values))}</td>
              </tr>
            );
          }),
        )}
      </tbody>
    </table>
  );
}
