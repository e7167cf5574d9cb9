/** Prints the trace: aligned text, coloured on a terminal only, or a line of JSON per event. */
import pc from "picocolors";
import { formatTrace, type Trace, type TraceEvent } from "../../sandbox/trace.ts";

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

export function tracePrinter(output: "text" | "json", stream: NodeJS.WriteStream): Trace {
  if (output === "json") return (event) => void stream.write(`${jsonLine(event)}\n`);
  const coloured = stream.isTTY === true && pc.isColorSupported;
  return (event) => {
    const line = formatTrace(event);
    const paint = coloured ? BY_VERB[event.verb] : undefined;
    stream.write(`${paint === undefined ? line : paint(line)}\n`);
  };
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
