/** The events, newest first, each as a sentence; and what the disruption loop would do next. */
import { useMemo, useState } from "preact/hooks";
import { clockTime, counted, plain } from "./format.ts";
import { Empty } from "./pieces.tsx";
import { go, place } from "./place.ts";
import { views } from "./store.ts";
import type { DecisionRow } from "./wire.ts";

/** The filter buttons of the page: a title, and the reasons of events that it selects. */
const KINDS: readonly (readonly [string, RegExp])[] = [
  [
    "Launches",
    /^(Launched|Nominated|Registered|Initialized|.*Launching|NoCompatible.*|Insufficient.*)$/,
  ],
  [
    "Disruptions",
    /^(Disrupt.*|Unconsolidatable|Consolidation.*|Evicted|.*Terminating|Drift.*|Expired)$/,
  ],
  ["Interruptions", /Interrupt|Rebalance|Stopp|Terminat|Health/],
  ["Waiting", /^(FailedScheduling|NoCompatible.*|Insufficient.*)$/],
];
const PAGE = 200;

type Row = readonly [string, DecisionRow];

function newestFirst(): readonly Row[] {
  return [...views.decisions.value.rows].sort(([a, x], [b, y]) =>
    x.at < y.at ? 1 : x.at > y.at ? -1 : a < b ? 1 : -1,
  );
}

export function DecisionsPage() {
  const [kind, setKind] = useState<string | undefined>();
  const [count, setCount] = useState(PAGE);
  const { head, rows } = views.decisions.value;
  const { filter } = place.value;
  const pattern = KINDS.find(([name]) => name === kind)?.[1];
  const shown = useMemo(
    () =>
      newestFirst().filter(
        ([, row]) =>
          (pattern?.test(row.reason) ?? true) &&
          `${row.reason} ${row.says} ${row.name}`.toLowerCase().includes(filter.toLowerCase()),
      ),
    [rows, pattern, filter],
  );
  return (
    <div class="page">
      <h2>Next</h2>
      <Next />
      <h2>Happened</h2>
      <div class="tools">
        {KINDS.map(([name]) => (
          <button
            type="button"
            key={name}
            aria-pressed={kind === name}
            onClick={() => setKind(kind === name ? undefined : name)}
          >
            {name}
          </button>
        ))}
        <span class="muted">
          {head === undefined ? "◐ opening" : counted(shown.length, "event")}
          {(head?.dropped ?? 0) > 0 ? `, ${head?.dropped} older left out` : ""}
        </span>
      </div>
      {shown.length === 0 && head !== undefined ? (
        <Empty
          says={rows.size === 0 ? "Karpenter has written no event." : "No event matches."}
          next={
            rows.size === 0
              ? "Its events are shown here as they come. Most clusters keep events for an hour."
              : `${counted(rows.size, "event")} in all: change the filter, or choose another kind.`
          }
        />
      ) : (
        <Events rows={shown.slice(0, count)} />
      )}
      {shown.length > count && (
        <button type="button" onClick={() => setCount(count + PAGE)}>
          Show {Math.min(PAGE, shown.length - count)} more
        </button>
      )}
    </div>
  );
}

function Next() {
  const { head, rows } = views.next.value;
  if (head === undefined)
    return <p class="muted">The disruption loop is played once, which takes some seconds…</p>;
  if (head.commands === 0) return <p class="muted">Nothing would be disrupted now.</p>;
  return (
    <ul class="sentences">
      {[...rows].map(([key, { says, pods }]) => (
        <li key={key}>
          {plain(says)} <span class="muted">{counted(pods, "pod")} moved</span>
        </li>
      ))}
    </ul>
  );
}

/** The newest events, beside the map. */
export function Feed() {
  const rows = merged(newestFirst()).slice(0, 60);
  const isKnown = views.decisions.value.head !== undefined;
  return rows.length === 0 && isKnown ? (
    <Empty
      says="Karpenter has written no event."
      next="Its events are shown here as they come. Most clusters keep events for an hour."
    />
  ) : (
    <Events rows={rows} />
  );
}

/** Joins events with the same text and time about several objects into one row, with the number of other objects. */
function merged(rows: readonly Row[]): readonly Row[] {
  const last = new Map<
    string,
    { readonly key: string; readonly row: DecisionRow; others: number }
  >();
  for (const [key, row] of rows) {
    const same = `${row.at} ${row.reason} ${row.says}`;
    const known = last.get(same);
    if (known === undefined) last.set(same, { key, row, others: 0 });
    else known.others += 1;
  }
  return [...last.values()].map(({ key, row, others }) => [
    key,
    others === 0 ? row : { ...row, says: `${row.says} (and ${others} more)` },
  ]);
}

function Events({ rows }: { rows: readonly Row[] }) {
  return (
    <ol class="events">
      {rows.map(([key, row]) => (
        <li key={key} class={row.isWarning ? "warning" : ""}>
          <time>{clockTime(row.at)}</time>{" "}
          <b>
            {row.isWarning ? "▲ " : ""}
            {plain(row.reason)}
          </b>{" "}
          {aboutOf(row) === undefined ? (
            `${row.kind} ${plain(row.name)}`
          ) : (
            <button type="button" class="link" onClick={() => go({ about: aboutOf(row) ?? "" })}>
              {row.kind} {plain(row.name)}
            </button>
          )}
          <span class="says">
            {plain(row.says)}
            {row.count > 1 ? ` (×${row.count})` : ""}
          </span>
        </li>
      ))}
    </ol>
  );
}

function aboutOf({ kind, name, namespace }: DecisionRow): string | undefined {
  switch (kind) {
    case "Node":
    case "NodeClaim":
    case "NodePool":
      return `${kind.toLowerCase()}/${name}`;
    case "Pod":
      return `pod/${namespace ?? "default"}/${name}`;
    default:
      return undefined;
  }
}
