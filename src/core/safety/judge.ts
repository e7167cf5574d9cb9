/**
 * Decides from fresh facts whether an act that cannot be undone may happen now. If anything is in doubt, the act
 * waits, and the verdict says why.
 */
import { grouped } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import type { Act, ViewName } from "./acts.ts";
import type { Brake } from "./brake.ts";

/** Milliseconds. If two clocks differ by more, one of them is wrong. */
const CLOCKS_APART_MS = 5 * 60_000;

/** The facts about a node or instance that is about to end. */
export interface EndFacts {
  /** The mirrors that the act depends on and that are not up to date. */
  readonly staleViews: readonly ViewName[];
  /** This machine's clock minus the API server's. Undefined: it is not known. */
  readonly clockSkewMs: number | undefined;
  /** The cloud says that the instance has ended. */
  readonly isProvenGone: boolean;
  /** The name of the object, for the brake's list. */
  readonly name: string;
  /** The provider ID of its machine, which the brake counts. */
  readonly machine: string;
  /** The number of Karpenter's nodes. */
  readonly fleet: number;
  /** Elapsed time of this process. */
  readonly nowMs: number;
}

/** Why a termination is put off. Each code has a sentence for users. */
export type DoubtCode =
  | "staleView"
  | "clock"
  | "brake"
  | "otherCluster"
  | "kindDeleted"
  | "untoldNode"
  | "claimChanged"
  | "nodeDenied";

/** Why an act waits. `message` is a whole sentence, with what to do. */
export interface Doubt {
  readonly code: DoubtCode;
  readonly message: string;
}

/** Go on, or wait because of a doubt. */
export type Verdict = { readonly go: true } | { readonly go: false; readonly doubt: Doubt };

/** The verdict. An act that may happen is counted by the brake, if the table says so. */
export function judge(act: Act, facts: EndFacts, brake: Brake): Verdict {
  const { staleViews, clockSkewMs, isProvenGone, fleet, nowMs } = facts;
  if (staleViews.length > 0)
    return held("staleView", `The view of ${staleViews.join(" and ")} is not current.`);
  const wrongClock = act.byClock ? clockDoubt(clockSkewMs) : undefined;
  if (wrongClock !== undefined) return held("clock", wrongClock);
  if (act.braked && !isProvenGone && !brake.take(facts, nowMs, fleet))
    return held("brake", brakeMessage(brake.most(fleet), fleet));
  return { go: true };
}

/** The sentence about two clocks that are too far apart. Undefined: they agree, or the difference is not known. */
export function clockDoubt(clockSkewMs: number | undefined): string | undefined {
  if (clockSkewMs === undefined || Math.abs(clockSkewMs) <= CLOCKS_APART_MS) return undefined;
  const apart = formatDuration(Math.abs(clockSkewMs));
  return `This machine's clock and the API server's are ${apart} apart. Set the clock right.`;
}

/** A verdict to wait. */
export function held(code: DoubtCode, message: string): Verdict {
  return { go: false, doubt: { code, message } };
}

/** The message of the brake, for events and conditions. */
export function brakeMessage(most: number, fleet: number): string {
  // If claims are lost, the fleet of claims may be smaller than the number of nodes that may end.
  const howMany =
    fleet > most ? `${grouped(most)} of ${grouped(fleet)} nodes` : `${grouped(most)} nodes`;
  return `More than ${howMany} would end within 10m for reasons that nobody asked for. No more end for 1h.`;
}
