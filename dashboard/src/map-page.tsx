/** The map: every node as a picture, and the same nodes as a table. */
import { useMemo, useState } from "preact/hooks";
import { ActButton } from "./acts.tsx";
import { arrowsOf, movesText } from "./arrows.ts";
import { Feed } from "./decisions-page.tsx";
import { cores, counted, gibibytes, grouped, plain, shortName } from "./format.ts";
import { type Column, Grid } from "./grid.tsx";
import { FoundNodes } from "./listed-nodes.tsx";
import { MapCanvas } from "./map-canvas.tsx";
import { GROUP_COLUMNS, NODE_COLUMNS } from "./node-columns.tsx";
import { aboutRow, categoriesOf, inOrder, nodesIn, rowNameOf } from "./node-list.ts";
import { Empty } from "./pieces.tsx";
import { FILLS, GROUPINGS, go, place } from "./place.ts";
import { about, views } from "./store.ts";
import type { MapRow } from "./wire.ts";

/** The column for where pods move. It is shown only while pods move. */
const MOVES: Column<MapRow> = {
  title: "Pods move to",
  isWide: true,
  cell: ({ to }) => plain((to ?? []).map(moveText).join(", ")),
};

function moveText([node, pods]: readonly [string, number]): string {
  const who = pods === 0 ? "replaced by" : `${counted(pods, "pod")} →`;
  return `${who} ${node === "" ? "a new node" : shortName(node)}`;
}

/** The column for the room of CapacityBuffers. It is shown only if some node keeps room. */
const ROOM: Column<MapRow> = {
  title: "Room kept",
  isNumber: true,
  isMinor: true,
  cell: ({ room }) => (room === undefined ? "" : counted(room, "pod")),
};

function columnsOf(rows: ReadonlyMap<string, MapRow>): readonly Column<MapRow>[] {
  const all = [...rows.values()];
  const moves = all.some(({ to }) => to !== undefined) ? [MOVES] : [];
  const room = all.some((row) => row.room !== undefined) ? [ROOM] : [];
  return [...NODE_COLUMNS.slice(0, 2), ...moves, ...NODE_COLUMNS.slice(2), ...room];
}

const PARTS = { pool: "NodePool", capacity: "capacity type", zone: "zone", type: "type" } as const;

/** A note that the map has groups, because a picture cannot show so many nodes, and how to find single nodes. */
function Grouped() {
  const { head, rows } = views.map.value;
  const by = (head?.groupedBy ?? []).map((part) => PARTS[part]).join(", ");
  return (
    <p role="note">
      {counted(head?.nodes ?? 0, "node")}, drawn as {counted(rows.size, "group")} by {by}. Choose a
      group to list its nodes, or write a filter to find some.
    </p>
  );
}

export function MapPage() {
  const { head, rows } = views.map.value;
  const { filter, asTable } = place.value;
  const isGrouped = head?.groupedBy !== undefined;
  const [marked, setMarked] = useState<string | undefined>();
  const words = isGrouped ? "" : filter;
  const listed = useMemo(() => inOrder(rows, words), [rows, words]);
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const isOurs = [...rows.values()].some(({ state }) => state !== "unmanaged");
  return (
    <div class="map-page">
      <div class="main-column">
        <Tools count={head === undefined ? undefined : nodesIn(listed.map(([, row]) => row))} />
        {!isOurs && head !== undefined && <NoNodes />}
        {head?.loading !== undefined && (
          <p role="note">
            Nodes come first: {head.loading.join(", ")} are still being listed. What is requested
            and what holds nodes follows.
          </p>
        )}
        {isGrouped && <Grouped />}
        {isGrouped && filter !== "" && <FoundNodes filter={filter} />}
        {!asTable && <MapCanvas rows={rows} marked={marked} />}
        <Grid
          label={isGrouped ? "Groups of nodes" : "Nodes"}
          rows={listed}
          columns={isGrouped ? GROUP_COLUMNS : columns}
          isHidden={!asTable}
          onMark={setMarked}
          onOpen={(name, row) => go({ about: aboutRow(name, row) })}
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

function Tools({ count }: { count: number | undefined }) {
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
      <span class="muted">{count === undefined ? "◐ opening" : `${grouped(count)} shown`}</span>
    </div>
  );
}

function MovesDrawn({ rows }: { rows: ReadonlyMap<string, MapRow> }) {
  const arrows = arrowsOf(rows, [rowNameOf(place.value.about)]);
  const { drawn, wanted, all } = arrows;
  if (all === 0) return null;
  if (drawn.length === all) return <span>→ pods move</span>;
  if (wanted > 0) return <span>→ {movesText(arrows)}</span>;
  return <span>→ {grouped(all)} moves of pods: choose a node to see its own</span>;
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
      {[...rows.values()].some(({ room }) => room !== undefined) && (
        <span>▫ room kept for a CapacityBuffer</span>
      )}
      <MovesDrawn rows={rows} />
      <span class="muted">{all}</span>
    </div>
  );
}
