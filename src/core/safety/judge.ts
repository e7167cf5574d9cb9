/**
 * Decides from fresh facts whether an act that cannot be undone may happen now. If there is any doubt, the act waits,
 * and the verdict has the reason.
 */
import { grouped } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import type { Act, ViewName } from "./acts.ts";
import type { Brake } from "./brake.ts";
import { SET_BACK_MESSAGE } from "./set-back.ts";

/** Milliseconds. If two clocks differ by more than this, one of them is wrong. */
export const CLOCKS_APART_MS = 5 * 60_000;

/** The facts about an object that is to be deleted, terminated or rebooted. */
export interface EndFacts {
  /** The local copies (mirrors) of cluster objects on which the act depends and that are not up to date. */
  readonly staleViews: readonly ViewName[];
  /** Whether one of them is not up to date because the API server's versions went back. */
  readonly isSetBack: boolean;
  /** The time of this process's clock minus that of the API server's. Undefined: not known. */
  readonly clockSkewMs: number | undefined;
  /** Whether the cloud says that the instance is terminated. */
  readonly isProvenGone: boolean;
  /** The name of the object, for the brake's messages. */
  readonly name: string;
  /** The provider ID of the instance, by which the brake counts. */
  readonly machine: string;
  /** The number of all nodes of Karpenter. The brake allows a share of them. */
  readonly fleet: number;
  /** The elapsed time of this process, in milliseconds. */
  readonly nowMs: number;
}

/** Why an act must wait. Each code has a sentence for users. */
export type DoubtCode =
  | "staleView"
  | "setBack"
  | "clock"
  | "brake"
  | "otherCluster"
  | "kindDeleted"
  | "untoldNode"
  | "claimChanged"
  | "nodeDenied"
  | "notDeleted"
  | "driftUnanswered";

/** Why an act waits. `message`: a whole sentence that also says what to do. */
export interface Doubt {
  readonly code: DoubtCode;
  readonly message: string;
}

/** Whether the act may happen, or the doubt because of which it waits. */
export type Verdict = { readonly go: true } | { readonly go: false; readonly doubt: Doubt };

/** The verdict about an act. If the act may happen and counts against the brake, the brake counts it. */
export function judge(act: Act, facts: EndFacts, brake: Brake): Verdict {
  const { staleViews, isSetBack, clockSkewMs, isProvenGone, fleet, nowMs } = facts;
  if (isSetBack) return held("setBack", SET_BACK_MESSAGE);
  if (staleViews.length > 0)
    return held("staleView", `The view of ${staleViews.join(" and ")} is not current.`);
  const wrongClock = act.byClock ? clockDoubt(clockSkewMs) : undefined;
  if (wrongClock !== undefined) return held("clock", wrongClock);
  if (act.braked && !isProvenGone && !brake.take(facts, nowMs, fleet))
    return held("brake", brakeMessage(brake.most(fleet), fleet));
  return { go: true };
}

/** Why the clocks differ too much, as a sentence. Undefined: they agree, or the difference is not known. */
export function clockDoubt(clockSkewMs: number | undefined): string | undefined {
  if (clockSkewMs === undefined || Math.abs(clockSkewMs) <= CLOCKS_APART_MS) return undefined;
  const apart = formatDuration(Math.abs(clockSkewMs));
  return `This machine's clock and the API server's are ${apart} apart. Set the clock right.`;
}

/** A verdict that makes the act wait. */
export function held(code: DoubtCode, message: string): Verdict {
  return { go: false, doubt: { code, message } };
}

/** The message of the brake, for events and conditions. */
export function brakeMessage(most: number, fleet: number): string {
  // If claims were lost, there may be fewer nodes than may be terminated. Then the number of all nodes is left out.
  const howMany =
    fleet > most ? `${grouped(most)} of ${grouped(fleet)} nodes` : `${grouped(most)} nodes`;
  return `More than ${howMany} would end within 10m for reasons that nobody asked for. No more end for 1h.`;
}
