/** What the fleet costs: now, for the time in which the console was open, and by NodePool. */
import { useState } from "preact/hooks";
import {
  clockTime,
  counted,
  grouped,
  knownSum,
  percent,
  perHour,
  perMonth,
  plain,
  UNKNOWN,
} from "./format.ts";
import { type Column, Grid } from "./grid.tsx";
import { Bar, Empty, Loading } from "./pieces.tsx";
import { go, place } from "./place.ts";
import { PriceChart } from "./price-chart.tsx";
import { type Line, linesOf } from "./price-lines.ts";
import { views } from "./store.ts";
import type { CostRow, MoneyRow, PricePoint } from "./wire.ts";

const COLUMNS: readonly Column<MoneyRow>[] = [
  { title: "NodePool", cell: ({ pool }) => plain(pool) },
  { title: "Capacity", cell: ({ capacity }) => capacity || "–" },
  { title: "Nodes", cell: ({ nodes }) => grouped(nodes), isNumber: true, isMinor: true },
  {
    title: "Price",
    cell: (row) => perHour(knownSum(row)),
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
    isMinor: true,
    cell: (row) =>
      knownSum(row) === undefined
        ? UNKNOWN
        : `${perHour(row.idleMicroUsdPerHour)} (${percent(row.idleMicroUsdPerHour, row.priceMicroUsdPerHour)})`,
  },
  {
    title: "Price unknown",
    cell: ({ unpriced }) => (unpriced === 0 ? "" : counted(unpriced, "node")),
    isNumber: true,
    isMinor: true,
  },
];

export function MoneyPage() {
  const { head, rows } = views.money.value;
  const points = [...views.history.value.rows.values()].sort((a, b) => a.atMs - b.atMs);
  if (head === undefined) return <Loading what="what the nodes cost" />;
  const sorted = [...rows].sort(([, a], [, b]) => b.priceMicroUsdPerHour - a.priceMicroUsdPerHour);
  const least = views.costs.value.head?.leastMicroUsdPerHour;
  const idle = sorted.reduce((sum, [, row]) => sum + row.idleMicroUsdPerHour, 0);
  return (
    <div class="page">
      <div class="figures">
        <Figure value={perHour(knownSum(head))} says="nodes of Karpenter" />
        <Figure value={perMonth(knownSum(head))} says="if nothing changes (730 hours)" />
        <Figure
          value={percent(idle, head.priceMicroUsdPerHour)}
          says={`idle: ${perHour(knownSum(head) && idle)} for room that no pod requests`}
        />
        {least !== undefined && (
          <Figure
            value={perHour(least)}
            says={`proven least for these requests, at prices of now and with these NodePools${head.unpriced > 0 ? "; it also covers what nodes without a known price run" : ""}`}
          />
        )}
        {head.unpriced > 0 && (
          <Figure
            value={String(head.unpriced)}
            says="nodes without a known price: not in the sum"
          />
        )}
      </div>
      {views.costs.value.head?.notes.map((note) => (
        <p key={note} class="muted">
          {plain(note)}
        </p>
      ))}
      <h2>Price an hour, over time</h2>
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
          <History points={points} />
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
      <WhoPays />
    </div>
  );
}

const LEAST: Line = { label: "proven least", of: ({ least }) => least, isDashed: true };

function History({ points }: { points: readonly PricePoint[] }) {
  const [by, setBy] = useState<"parts" | "pools">("parts");
  const lines = [...linesOf(points, by), LEAST];
  return (
    <>
      <div class="tools">
        <button type="button" aria-pressed={by === "parts"} onClick={() => setBy("parts")}>
          By capacity type
        </button>
        <button type="button" aria-pressed={by === "pools"} onClick={() => setBy("pools")}>
          By NodePool
        </button>
      </div>
      <PriceChart points={points} lines={lines} />
    </>
  );
}

const COST_COLUMNS: readonly Column<CostRow>[] = [
  { title: "Namespace", cell: ({ namespace }) => plain(namespace) || "–" },
  {
    title: "Workload",
    cell: ({ kind, name }) => (name === "" ? "no pod requests anything" : plain(`${kind} ${name}`)),
  },
  {
    title: "Pods",
    cell: ({ pods }) => (pods === 0 ? "" : grouped(pods)),
    isNumber: true,
    isMinor: true,
  },
  { title: "Cost", cell: ({ microUsdPerHour }) => perHour(microUsdPerHour), isNumber: true },
  {
    title: "A month",
    cell: ({ microUsdPerHour }) => perMonth(microUsdPerHour),
    isNumber: true,
    isMinor: true,
  },
  {
    title: "Of that idle",
    cell: ({ idleMicroUsdPerHour, microUsdPerHour }) =>
      percent(idleMicroUsdPerHour, microUsdPerHour),
    isNumber: true,
    isMinor: true,
  },
];

/** The costs by namespace: one row for all workloads of a namespace. */
function byNamespace(rows: Iterable<readonly [string, CostRow]>): (readonly [string, CostRow])[] {
  const sums = new Map<string, CostRow>();
  for (const [, row] of rows) {
    const { namespace } = row;
    const key = namespace === "" ? row.name : namespace;
    const before = sums.get(key);
    const sum = {
      namespace,
      kind: "",
      name: namespace === "" ? row.name : "all",
      pods: (before?.pods ?? 0) + row.pods,
      microUsdPerHour: (before?.microUsdPerHour ?? 0) + row.microUsdPerHour,
      idleMicroUsdPerHour: (before?.idleMicroUsdPerHour ?? 0) + row.idleMicroUsdPerHour,
    };
    sums.set(key, sum);
  }
  return [...sums];
}

function WhoPays() {
  const { head, rows } = views.costs.value;
  const [isWhole, setIsWhole] = useState(false);
  if (head === undefined)
    return (
      <>
        <h2>Who they are paid for</h2>
        <Loading what="what each workload pays" />
      </>
    );
  const filter = place.value.filter.toLowerCase();
  const wanted = isWhole ? byNamespace(rows) : [...rows];
  const shown = wanted
    .filter(([, row]) => `${row.namespace} ${row.kind} ${row.name}`.toLowerCase().includes(filter))
    .sort(([, a], [, b]) => b.microUsdPerHour - a.microUsdPerHour);
  return (
    <>
      <h2>Who they are paid for</h2>
      <p class="muted">
        Each node's price is shared by its pods by what they request of cpu and memory. What nobody
        requests is shared the same way. Together the rows are the price.
      </p>
      <div class="tools">
        <button type="button" aria-pressed={!isWhole} onClick={() => setIsWhole(false)}>
          Workloads
        </button>
        <button type="button" aria-pressed={isWhole} onClick={() => setIsWhole(true)}>
          Namespaces
        </button>
        {head.others > 0 && <span class="muted">{head.others} cheaper ones in “others”</span>}
      </div>
      <Grid
        label="Costs by workload"
        rows={shown}
        columns={COST_COLUMNS}
        onOpen={(_, { namespace }) => go({ filter: namespace })}
      />
    </>
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
