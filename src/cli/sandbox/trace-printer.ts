/** Prints the trace: aligned text, coloured on a terminal only, or a line of JSON per event. */
import pc from "picocolors";
import { paintedLine, printedJson } from "../../base/printable.ts";
import { formatTrace, type Trace, type TraceEvent } from "../../sandbox/trace.ts";
import { isTerminal, toStdout } from "../program/output.ts";

type Paint = (text: string) => string;

const BY_VERB: Readonly<Record<string, Paint>> = {
  pending: pc.yellow,
  warned: pc.yellow,
  unready: pc.yellow,
  broken: pc.red,
  failed: pc.red,
  running: pc.green,
  ready: pc.green,
  initialized: pc.green,
  kept: pc.green,
  launched: pc.cyan,
  created: pc.cyan,
  terminated: pc.dim,
  removed: pc.dim,
  gone: pc.dim,
};

export function tracePrinter(output: "text" | "json"): Trace {
  if (output === "json") return (event) => toStdout(printedJson(jsonLine(event)));
  const coloured = isTerminal("stdout") && pc.isColorSupported;
  return (event) => {
    const paint = (coloured ? BY_VERB[event.verb] : undefined) ?? plain;
    toStdout(paintedLine(formatTrace(event), paint));
  };
}

function plain(text: string): string {
  return text;
}

/** Stable keys: `time`, `actor`, `verb`, `object`, `what`, `why`. */
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
