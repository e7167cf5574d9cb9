/** The map: every node as a picture, and the same nodes as a table. */
import { useMemo, useState } from "preact/hooks";
import { ActButton } from "./acts.tsx";
import { arrowsOf } from "./arrows.ts";
import { Feed } from "./decisions-page.tsx";
import { ageOf, cores, counted, gibibytes, percent, perHour, plain, shortName } from "./format.ts";
import { type Column, Grid } from "./grid.tsx";
import { MapCanvas } from "./map-canvas.tsx";
import { categoriesOf, inOrder } from "./node-list.ts";
import { Empty, StateMark } from "./pieces.tsx";
import { FILLS, GROUPINGS, go, place } from "./place.ts";
import { about, nowMs, views } from "./store.ts";
import type { MapRow } from "./wire.ts";

const COLUMNS: readonly Column<MapRow>[] = [
  { title: "Node", cell: (_, name) => plain(name) },
  { title: "State", cell: ({ state }) => <StateMark state={state} /> },
  { title: "NodePool", cell: ({ pool }) => plain(pool ?? "") },
  { title: "Type", cell: ({ type }) => type ?? "–", isMinor: true },
  { title: "Zone", cell: ({ zone }) => zone ?? "–", isMinor: true },
  { title: "Capacity", cell: ({ capacity }) => capacity ?? "–", isMinor: true },
  { title: "CPU requested", cell: ({ cpu }) => percent(...cpu), isNumber: true },
  {
    title: "Memory requested",
    cell: ({ memory }) => percent(...memory),
    isNumber: true,
    isMinor: true,
  },
  { title: "Pods", cell: ({ pods }) => pods, isNumber: true },
  { title: "Price", cell: ({ price }) => perHour(price), isNumber: true },
  {
    title: "Age",
    cell: ({ created }) => ageOf(created, nowMs.value),
    isNumber: true,
    isMinor: true,
  },
  { title: "Held by", cell: ({ held }) => plain(held ?? ""), isMinor: true },
];

/** There while pods move. */
const MOVES: Column<MapRow> = {
  title: "Pods move to",
  isWide: true,
  cell: ({ to }) => plain((to ?? []).map(moveText).join(", ")),
};

function moveText([node, pods]: readonly [string, number]): string {
  const who = pods === 0 ? "replaced by" : `${counted(pods, "pod")} →`;
  return `${who} ${node === "" ? "a new node" : shortName(node)}`;
}

export function MapPage() {
  const { rows } = views.map.value;
  const { filter, asTable } = place.value;
  const [marked, setMarked] = useState<string | undefined>();
  const listed = useMemo(() => inOrder(rows, filter), [rows, filter]);
  const isMoving = [...rows.values()].some(({ to }) => to !== undefined);
  const isOurs = [...rows.values()].some(({ state }) => state !== "unmanaged");
  return (
    <div class="map-page">
      <div class="main-column">
        <Tools count={listed.length} />
        {!isOurs && views.map.value.head !== undefined && <NoNodes />}
        {!asTable && <MapCanvas rows={rows} marked={marked} />}
        <Grid
          label="Nodes"
          rows={listed}
          columns={isMoving ? [...COLUMNS.slice(0, 2), MOVES, ...COLUMNS.slice(2)] : COLUMNS}
          isHidden={!asTable}
          onMark={setMarked}
          onOpen={(name) => go({ about: `node/${name}` })}
        />
        {!asTable && <Legend />}
      </div>
      <aside class="feed-column" aria-label="What happened">
        <Feed />
      </aside>
    </div>
  );
}

function NoNodes() {
  const isSandbox = about.value?.mode === "sandbox";
  return (
    <Empty
      says="No node here is Karpenter's."
      next={
        isSandbox
          ? "Nodes come when pods need them: apply the example, then scale the Deployment inflate."
          : "Nodes with a NodeClaim show here as soon as pods need them."
      }
    >
      {isSandbox && (
        <p class="buttons">
          <ActButton values={{ name: "start" }}>Apply the example</ActButton>
          <ActButton values={{ name: "scale", deployment: "inflate", replicas: "10" }}>
            Scale inflate to 10
          </ActButton>
        </p>
      )}
    </Empty>
  );
}

function Tools({ count }: { count: number }) {
  const { group, fill, asTable } = place.value;
  return (
    <div class="tools">
      <label>
        Group{" "}
        <select
          value={group}
          onChange={({ currentTarget: { value } }) => go({ group: value as typeof group })}
        >
          {GROUPINGS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label>
        Fill{" "}
        <select
          value={fill}
          onChange={({ currentTarget: { value } }) => go({ fill: value as typeof fill })}
        >
          {FILLS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <button type="button" aria-pressed={asTable} onClick={() => go({ asTable: !asTable })}>
        Table
      </button>
      {!asTable && (
        <button type="button" onClick={() => dispatchEvent(new Event("map-fit"))}>
          Fit
        </button>
      )}
      <span class="muted">{count} shown</span>
    </div>
  );
}

function MovesDrawn({ rows }: { rows: ReadonlyMap<string, MapRow> }) {
  const { drawn, all } = arrowsOf(rows);
  if (all === 0) return null;
  const count = drawn.length < all ? `, ${drawn.length} of ${all} drawn` : "";
  return <span>→ pods move{count}</span>;
}

function Legend() {
  const { fill } = place.value;
  const { rows, head } = views.map.value;
  const names = categoriesOf(rows.values(), fill).slice(0, 8);
  const all =
    head === undefined ? "" : `${cores(head.cpu[1])}, ${gibibytes(head.memory[1])} in all`;
  return (
    <div class="legend">
      {(fill === "cpu" || fill === "memory") && (
        <span>
          {fill} requested: 0 %{" "}
          {[1, 2, 3, 4, 5, 6, 7].map((step) => (
            <i key={step} class={`swatch ramp-${step}`} />
          ))}{" "}
          100 %
        </span>
      )}
      {names.map((name, index) => (
        <span key={name}>
          <i class={`swatch cat-${index + 1}`} /> {index === 7 ? "others" : plain(name || "none")}
        </span>
      ))}
      {fill === "held" && (
        <span>
          <i class="swatch held" /> something keeps it
        </span>
      )}
      <span>◐ comes up</span>
      <span>▲ chosen to go</span>
      <span>▬ leaves</span>
      <MovesDrawn rows={rows} />
      <span class="muted">{all}</span>
    </div>
  );
}
