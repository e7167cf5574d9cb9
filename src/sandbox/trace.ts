/**
 * The trace: one line an event, in fixed columns, readable by a person and diffable by git: virtual
 * time, actor, verb, object, essence, why. Equal scenario and seed give equal bytes.
 */

import { printable } from "../base/printable.ts";

/** One line of the sandbox's output. */
export interface TraceEvent {
  readonly atMs: number;
  /** Who did it: `scheduler`, `kubelet`, `karpenter`, `ec2`, `user`. */
  readonly actor: string;
  /** What happened, past tense, one word: `pending`, `created`, `launched`, `ready`, `bound`. */
  readonly verb: string;
  /** `pod default/inflate-x`, `nodeclaim default-abcde`. */
  readonly object: string;
  /** The essence in a few words. */
  readonly what: string;
  /** Why, when it was a decision. */
  readonly why?: string;
  /** Where known: of a launched claim its price, of a command's first deleted claim what the command saves. */
  readonly microUsdPerHour?: number;
}

/** Is told of each event, in order. */
export type Trace = (event: TraceEvent) => void;

/** One line, safe for a terminal: `08:00:12.250  karpenter  created     nodeclaim default-x7k2p   … (why)`. Time of day in UTC. */
export function formatTrace(event: TraceEvent): string {
  const time = new Date(event.atMs).toISOString().slice(11, 23);
  const head = `${time}  ${event.actor.padEnd(9)}  ${event.verb.padEnd(11)}  ${event.object.padEnd(38)}`;
  const why = event.why === undefined || event.why === "" ? "" : `  (${event.why})`;
  return printable(`${head}  ${event.what}${why}`.trimEnd());
}
