/** Small pieces that several pages use. */
import type { ComponentChildren } from "preact";
import { grouped } from "./format.ts";
import type { MapRow } from "./wire.ts";

/** The page's text in place of data: what is missing, and what to do next. */
export function Empty({
  says,
  next,
  children,
}: {
  says: string;
  next: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p>
        <b>{says}</b>
      </p>
      <p>{next}</p>
      {children}
    </div>
  );
}

/** The page's text while its data is being worked out: what is awaited. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="page skeleton" role="status">
      ◐ Working out {what} …
    </div>
  );
}

const MARKS: Readonly<Record<MapRow["state"], readonly [mark: string, tone: string]>> = {
  launching: ["◐", "info"],
  joining: ["◐", "info"],
  initializing: ["◐", "info"],
  running: ["●", "plain"],
  chosen: ["▲", "warn"],
  draining: ["▬", "info"],
  detaching: ["▬", "info"],
  ending: ["▬", "info"],
  unmanaged: ["○", "off"],
};

export function StateMark({ state }: { state: MapRow["state"] }) {
  const [mark, tone] = MARKS[state];
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{mark}</span> {state}
    </span>
  );
}

/** The state of a row as text: `running`, or for a group `118 running, 2 draining`. */
export function statesText({ state, states }: Pick<MapRow, "state" | "states">): string {
  const counts = Object.entries(states ?? {});
  return counts.length === 0
    ? state
    : counts.map(([one, count]) => `${grouped(count)} ${one}`).join(", ");
}

export function Bar({ part, whole, label }: { part: number; whole: number; label: string }) {
  const share = whole <= 0 ? 0 : Math.min(1, part / whole);
  return (
    <span class="bar" role="img" aria-label={label}>
      <span class="bar-fill" style={{ width: `${share * 100}%` }} />
    </span>
  );
}
