/** Prints the trace: aligned text, coloured on a terminal, or one line of JSON for each event. */
import { paintedLine, printable, printedJson } from "../../base/printable.ts";
import { formatTrace, type Trace, type TraceEvent } from "../../sandbox/trace.ts";
import { clipped } from "../program/layout.ts";
import { toStdout } from "../program/output.ts";
import { stdoutColumns, stdoutScreen } from "../program/terminal.ts";

/** The colour of each verb, as a function of picocolors. */
const BY_VERB: Readonly<Record<string, "yellow" | "red" | "green" | "cyan" | "dim">> = {
  pending: "yellow",
  warned: "yellow",
  unready: "yellow",
  broken: "red",
  failed: "red",
  running: "green",
  ready: "green",
  initialized: "green",
  kept: "green",
  launched: "cyan",
  created: "cyan",
  terminated: "dim",
  removed: "dim",
  gone: "dim",
};

/** A function that prints each event. On a terminal, lines are cut to its width. In a file they are complete. */
export function tracePrinter(output: "text" | "json"): Trace {
  if (output === "json") return (event) => toStdout(printedJson(jsonLine(event)));
  const { paint } = stdoutScreen();
  return (event) => {
    // Read for each line, because the window's width can change.
    const line = traceLine(event, stdoutColumns());
    const colour = BY_VERB[event.verb];
    toStdout(paintedLine(line, colour === undefined ? plain : paint[colour]));
  };
}

/** A trace that keeps its events until `release`, which prints them; from then on each event is printed at once. */
export interface HeldTrace {
  readonly trace: Trace;
  readonly release: () => void;
}

/** Holds events back, so that the first lines of the sandbox say how to reach it, whatever already happens in it. */
export function heldTrace(print: Trace): HeldTrace {
  let held: TraceEvent[] | undefined = [];
  return {
    trace: (event) => {
      if (held === undefined) print(event);
      else held.push(event);
    },
    release: () => {
      const events = held ?? [];
      held = undefined;
      for (const event of events) print(event);
    },
  };
}

/** The columns before the details take 78 characters, so a narrower terminal would show next to nothing of them. */
const NARROW_COLUMNS = 120;

/**
 * The line, cut to the width of the terminal. `columns`: that width; undefined: the line is not cut. Exported for
 * tests.
 */
export function traceLine(event: TraceEvent, columns: number | undefined): string {
  if (columns === undefined) return printable(formatTrace(event));
  const whole = columns < NARROW_COLUMNS ? formatTrace(event, 0) : formatTrace(event);
  return clipped(printable(whole), columns);
}

function plain(text: string): string {
  return text;
}

/** The event as one line of JSON. Its keys never change: `time`, `actor`, `verb`, `object`, `what`, `why`. */
function jsonLine({ atMs, actor, verb, object, what, why }: TraceEvent): string {
  return JSON.stringify({
    time: new Date(atMs).toISOString(),
    actor,
    verb,
    object,
    what,
    ...(why === undefined ? {} : { why }),
  });
}
