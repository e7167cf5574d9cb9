/**
 * The trace: one line for each event, in fixed columns: virtual time, actor, verb, object, details, reason. Equal
 * scenarios and seeds give equal bytes, so traces can be compared with `diff`.
 */

import { printable } from "../base/printable.ts";

/** One line of the sandbox's output. */
export interface TraceEvent {
  readonly atMs: number;
  /** Who did it: `scheduler`, `kubelet`, `karpenter`, `ec2`, `user`. */
  readonly actor: string;
  /** One word for what happened: `pending`, `created`, `launched`, `ready`, `bound`. */
  readonly verb: string;
  /** The object: `pod default/inflate-x`, `nodeclaim default-abcde`. */
  readonly object: string;
  /** Details, in a few words. */
  readonly what: string;
  /** The reason, if the event was a decision. */
  readonly why?: string;
  /**
   * The price of a launched claim, or the saving of a command on its first deleted claim. Absent: it is not known.
   */
  readonly microUsdPerHour?: number;
}

/** Receives each event, in order. */
export type Trace = (event: TraceEvent) => void;

/** Width of the column of objects, in characters. */
const OBJECT_WIDTH = 38;

/**
 * One line, safe for a terminal: `08:00:12.250  karpenter  created     nodeclaim default-x7k2p   … (why)`. Time of
 * day in UTC. `objectWidth` 0: details follow the object at once, not in a column.
 */
export function formatTrace(event: TraceEvent, objectWidth: number = OBJECT_WIDTH): string {
  const time = new Date(event.atMs).toISOString().slice(11, 23);
  const head = `${time}  ${event.actor.padEnd(9)}  ${event.verb.padEnd(11)}  ${event.object.padEnd(objectWidth)}`;
  const why = event.why === undefined || event.why === "" ? "" : `  (${event.why})`;
  return printable(`${head}  ${event.what}${why}`.trimEnd());
}
