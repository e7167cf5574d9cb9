/**
 * Whether an act that cannot be taken back may happen now, from facts that were gathered just before. A doubt never
 * ends anything: the act waits, and whoever asks is told for what.
 */
import { formatDuration } from "../../base/duration.ts";
import type { Act, ViewName } from "./acts.ts";
import type { Brake } from "./brake.ts";

/** Apart by more than this, two clocks cannot both be right. */
const CLOCKS_APART_MS = 5 * 60_000;

/** What the judge reads before a node or instance is ended. */
export interface EndFacts {
  /** Of the pictures that the act rests on, those that are not current. */
  readonly staleViews: readonly ViewName[];
  /** Our clock minus the API server's; undefined: not known. */
  readonly clockSkewMs: number | undefined;
  /** The cloud itself names the instance as ended. */
  readonly isProvenGone: boolean;
  /** Of the object: the brake lists what it holds. */
  readonly name: string;
  /** What it stands for, by provider ID: the brake counts that. */
  readonly machine: string;
  /** Nodes of ours in all. */
  readonly fleet: number;
  /** Elapsed time of this process. */
  readonly nowMs: number;
}

/** Why a termination is put off. Each code has a sentence for users. */
export type DoubtCode = "staleView" | "clock" | "brake" | "otherCluster" | "kindDeleted";

/** Why an act waits. `message` is a whole sentence, with what to do. */
export interface Doubt {
  readonly code: DoubtCode;
  readonly message: string;
}

/** Go on, or wait because of a doubt. */
export type Verdict = { readonly go: true } | { readonly go: false; readonly doubt: Doubt };

/** Counts the act against the brake where it goes. */
export function judge(act: Act, facts: EndFacts, brake: Brake): Verdict {
  const { staleViews, clockSkewMs, isProvenGone, fleet, nowMs } = facts;
  if (staleViews.length > 0)
    return held("staleView", `The view of ${staleViews.join(" and ")} is not current.`);
  if (act.byClock && clockSkewMs !== undefined && Math.abs(clockSkewMs) > CLOCKS_APART_MS) {
    const apart = formatDuration(Math.abs(clockSkewMs));
    return held(
      "clock",
      `This machine's clock and the API server's are ${apart} apart. Set the clock right.`,
    );
  }
  if (act.braked && !isProvenGone && !brake.take(facts, nowMs, fleet))
    return held("brake", brakeMessage(brake.most(fleet), fleet));
  return { go: true };
}

/** A verdict to wait. */
export function held(code: DoubtCode, message: string): Verdict {
  return { go: false, doubt: { code, message } };
}

/** What the brake says of itself on events and conditions. */
export function brakeMessage(most: number, fleet: number): string {
  // Where claims are lost, more Nodes may be there than claims.
  const howMany = fleet > most ? `${most} of ${fleet} nodes` : `${most} nodes`;
  return `More than ${howMany} would end within 10m for reasons that nobody asked for. No more end for 1h.`;
}
