/** The page What if: the input, and what would happen, as `karpenter simulate` answers it. Nothing is changed. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Copied } from "./copy.tsx";
import { cores, counted, duration, grouped, percent, perHour, perMonth, plain } from "./format.ts";
import { type Column, Grid } from "./grid.tsx";
import { PairOfMaps } from "./pair-of-maps.tsx";
import { Bar, Empty } from "./pieces.tsx";
import { go } from "./place.ts";
import { secondMs } from "./store.ts";
import { answered, asking, type BufferRoom, cancelWhatIf, type Simulated } from "./supposition.ts";
import { unplacedPods } from "./unplaced.ts";
import { WhatIfForm } from "./what-if-form.tsx";
import type { MapRow, SimulationProgress } from "./wire.ts";

export function WhatIfPage() {
  const answer = answered.value;
  return (
    <div class="page">
      <WhatIfForm />
      {asking.value !== undefined && <Asked />}
      {answer === undefined && asking.value === undefined && (
        <Empty
          says="Nothing is simulated yet."
          next="Suppose that nodes or a zone go, or that a NodePool, a price or replicas are other. Nothing is done to the cluster."
        />
      )}
      {answer !== undefined &&
        ("problem" in answer ? (
          <p class="state error" role="alert">
            ✕ {plain(answer.problem)}
          </p>
        ) : (
          <Answer answer={answer} />
        ))}
    </div>
  );
}

/** What is known while the cluster is being simulated. */
function Asked() {
  const { atMs = 0, progress } = asking.value ?? {};
  const elapsedMs = Math.max(0, secondMs.value - atMs);
  return (
    <div class="empty">
      <p role="status">
        <b>The cluster is being simulated…</b>
      </p>
      <p>
        {progress === undefined
          ? `${duration(elapsedMs)} so far`
          : `${counted(progress.commands, "disruption command")} so far: ${counted(progress.nodes, "node")} and ${perHour(progress.priceMicroUsdPerHour)} are left, after ${duration(progress.simulatedMs)} of simulated time`}
      </p>
      {progress?.savedShare !== undefined && (
        <Bar part={progress.savedShare} whole={1} label={percent(progress.savedShare, 1)} />
      )}
      {progress !== undefined && (
        <p class="muted">
          {duration(elapsedMs)} so far{restText(progress)}. Consolidation is stopped after{" "}
          {duration(progress.longestMs)}, with what it has found.
        </p>
      )}
      <p class="muted">Pods are placed before and after consolidation without a time limit.</p>
      <button type="button" onClick={cancelWhatIf}>
        Cancel
      </button>
    </div>
  );
}

/** The time that is left if the rest of the possible saving takes as long as what was saved. */
function restText({ savedShare, elapsedMs, longestMs }: SimulationProgress): string {
  if (savedShare === undefined) return "";
  const restMs = (elapsedMs * (1 - savedShare)) / savedShare;
  return `, about ${duration(Math.min(restMs, longestMs - elapsedMs))} left`;
}

function Answer({ answer }: { answer: Simulated }) {
  const { says, before, after, unplaced, against, next, notes, commandLine } = answer;
  const saves = answer.savesMicroUsdPerHour;
  const waiting = unplacedPods(unplaced);
  const [was, is] = useMemo(() => {
    const all = new Map(Object.entries(answer.nodesBefore));
    const then = new Map(all);
    for (const name of answer.nodesAfter.del) then.delete(name);
    for (const [name, row] of Object.entries(answer.nodesAfter.set)) then.set(name, row);
    return [all, then];
  }, [answer]);
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus(), [answer]);
  return (
    <>
      <h2 ref={head} tabIndex={-1}>
        {plain(says)}
      </h2>
      <div class="figures">
        <Figure name="Nodes" value={`${grouped(before.nodes)} → ${grouped(after.nodes)}`} />
        <Figure
          name="Price"
          value={`${perHour(before.priceMicroUsdPerHour)} → ${perHour(after.priceMicroUsdPerHour)}`}
        />
        <Figure name={saves < 0 ? "Adds" : "Saves"} value={perMonth(Math.abs(saves))} />
        <Figure name="Pods that move" value={grouped(answer.podsMoved)} />
        <Figure name="Pods without a place" value={waiting.figure} isBad={waiting.isBad} />
        {answer.headroom !== undefined && (
          <Figure
            name="Room of CapacityBuffers"
            value={`${placedIn(answer.headroomBefore)} → ${counted(placedIn(answer.headroom), "pod")}`}
            isBad={placedIn(answer.headroom) < placedIn(answer.headroomBefore)}
          />
        )}
      </div>
      <PairOfMaps before={was} after={is} />
      <p class="legend">
        <span>✕ goes</span>
        <span>+ is launched</span>
        <span>thick border: has other pods</span>
        {answer.headroom !== undefined && <span>▫ room kept for a CapacityBuffer</span>}
      </p>
      <Changes before={was} after={is} />
      <Sentences title="Commands" lines={commandsOf(answer)} none="No command: nothing moves." />
      {answer.ended !== undefined && <p class="muted">{ENDS[answer.ended] ?? ""}</p>}
      <Sentences
        title="Protects nodes that go"
        lines={against.map((one) => `${one.node}: ${one.says}`)}
      />
      {waiting.lists.map(({ title, lines }) => (
        <Sentences key={title} title={title} lines={lines} />
      ))}
      <Sentences title="CapacityBuffers" lines={roomLines(answer)} />
      <Sentences title="Next" lines={next.map((one) => one.says)} />
      <Sentences title="What was assumed" lines={notes} />
      <h3>The same in a terminal</h3>
      <Copied label="Copy as command line" text={commandLine} />
    </>
  );
}

function placedIn(rooms: readonly BufferRoom[] = []): number {
  return rooms.reduce((sum, { placed }) => sum + placed, 0);
}

/** A line for each buffer: how many of its pods have room on nodes, before and after. */
function roomLines({ headroom = [], headroomBefore = [] }: Simulated): readonly string[] {
  const before = new Map(headroomBefore.map((one) => [one.buffer, one.placed]));
  return headroom.map(
    ({ buffer, pods, placed }) =>
      `${buffer}: room for ${before.get(buffer) ?? 0} → ${placed} of ${counted(pods, "pod")}`,
  );
}

const ENDS: Readonly<Record<string, string>> = {
  settled: "At the end the disruption loop has nothing more to do.",
  horizon: "The simulation ends after 24 hours; the disruption loop would go on.",
  stopped:
    "Consolidation was stopped, because it took too long: more commands would follow. In a terminal it has no limit.",
  limit: "The simulation ends before the disruption loop does: it would take too many rounds.",
};

function Figure({ name, value, isBad }: { name: string; value: string; isBad?: boolean }) {
  return (
    <div class="figure">
      <span class="muted">{name}</span>
      <span class={isBad === true ? "value small state warn" : "value small"}>
        {isBad === true ? "▲ " : ""}
        {value}
      </span>
    </div>
  );
}

/** A line for each step: what happens, the moved pods, and the change of the price. */
function commandsOf({ before, steps }: Simulated): readonly string[] {
  let price = before.priceMicroUsdPerHour;
  return steps.map(({ says, moves, priceMicroUsdPerHour }) => {
    const change = priceMicroUsdPerHour - price;
    price = priceMicroUsdPerHour;
    const moved = moves.filter(
      ({ from, to }) => from !== undefined && to !== undefined && from !== to,
    );
    const parts = [
      says,
      ...(moved.length === 0 ? [] : [`${counted(moved.length, "pod")} moved`]),
      ...(change === 0 ? [] : [`${change < 0 ? "−" : "+"}${perHour(Math.abs(change))}`]),
    ];
    return parts.join(" · ");
  });
}

interface Change {
  readonly what: "goes" | "is launched" | "has other pods";
  readonly row: MapRow;
  readonly was: MapRow | undefined;
}

const MARKS = { goes: "✕", "is launched": "+", "has other pods": "▢" } as const;

const COLUMNS: readonly Column<Change>[] = [
  { title: "Node", cell: (_, name) => plain(name) },
  { title: "What happens", cell: ({ what }) => `${MARKS[what]} ${what}` },
  { title: "NodePool", cell: ({ row }) => plain(row.pool ?? ""), isMinor: true },
  { title: "Type", cell: ({ row }) => row.type ?? "–" },
  { title: "Zone", cell: ({ row }) => row.zone ?? "–", isMinor: true },
  {
    title: "Pods",
    cell: ({ row, was, what }) =>
      what === "goes" ? `${row.pods} → 0` : `${was?.pods ?? 0} → ${row.pods}`,
    isNumber: true,
  },
  {
    title: "CPU requested",
    cell: ({ row }) => `${percent(...row.cpu)} of ${cores(row.cpu[1])}`,
    isNumber: true,
    isMinor: true,
  },
  { title: "Price", cell: ({ row }) => perHour(row.price), isNumber: true },
];

/** The difference of the two maps as a table. */
function Changes({
  before,
  after,
}: {
  before: ReadonlyMap<string, MapRow>;
  after: ReadonlyMap<string, MapRow>;
}) {
  const rows = useMemo(() => changesOf(before, after), [before, after]);
  if (rows.length === 0) return <p>No node changes.</p>;
  return (
    <>
      <h3>{counted(rows.length, "node")} that change</h3>
      <Grid
        label="Nodes that change"
        rows={rows}
        columns={COLUMNS}
        onOpen={(name, { was }) => {
          if (was !== undefined) go({ about: `node/${name}` });
        }}
      />
    </>
  );
}

function changesOf(
  before: ReadonlyMap<string, MapRow>,
  after: ReadonlyMap<string, MapRow>,
): readonly (readonly [string, Change])[] {
  const gone = [...before]
    .filter(([name]) => !after.has(name))
    .map(([name, row]): [string, Change] => [name, { what: "goes", row, was: row }]);
  const others = [...after].flatMap(([name, row]): [string, Change][] => {
    const was = before.get(name);
    if (was === undefined) return [[name, { what: "is launched", row, was }]];
    const isSame = was.pods === row.pods && was.room === row.room;
    return isSame ? [] : [[name, { what: "has other pods", row, was }]];
  });
  return [...gone, ...others];
}

/** Maximum number of lines of a list. Of the others only the number is shown. */
const MOST_LINES = 50;

function Sentences({
  title,
  lines,
  none,
}: {
  title: string;
  lines: readonly string[];
  none?: string;
}) {
  if (lines.length === 0 && none === undefined) return null;
  return (
    <>
      <h3>{title}</h3>
      {lines.length === 0 && <p>{none}</p>}
      <ol class="sentences">
        {lines.slice(0, MOST_LINES).map((line, index) => (
          <li key={`${index} ${line}`}>{plain(line)}</li>
        ))}
      </ol>
      {lines.length > MOST_LINES && <p class="muted">and {lines.length - MOST_LINES} more</p>}
    </>
  );
}
