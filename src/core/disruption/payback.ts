/**
 * What a move costs before it saves anything: old and new nodes are paid for side by side while the new
 * ones come up and the old ones are drained. Upstream reckons such moves as free.
 */
import { condition } from "../../apis/karpenter/conditions.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Candidate } from "./candidates.ts";
import { type Command, savingsMicroUsd } from "./command.ts";

/** How long a node takes to come up where that cannot be seen of the one that goes; */
const BOOT_MS = 3 * 60_000;
/** and what is not believed: it waited for something else. */
const MOST_BOOT_MS = 15 * 60_000;
const DEFAULT_GRACE_MS = 30_000;

export interface Payback {
  /** Old and new nodes run side by side for so long. */
  readonly overlapMs: number;
  /** From then on: until what that costs has been saved. `Infinity` when nothing is saved. */
  readonly earnedMs: number;
}

/** Undefined where nothing comes in the place of what goes: that costs nothing. */
export function paybackOf(command: Command): Payback | undefined {
  const { candidates, replacements } = command;
  if (replacements.length === 0) return undefined;
  const overlapMs =
    Math.max(...candidates.map(bootMs)) + Math.max(...candidates.map((one) => drainMs(one)));
  const newMicroUsd = replacements.reduce((sum, { cheapest }) => sum + cheapest.priceMicroUsd, 0);
  const saved = savingsMicroUsd(command);
  const earnedMs =
    saved <= 0 ? Number.POSITIVE_INFINITY : Math.ceil((newMicroUsd * overlapMs) / saved);
  return { overlapMs, earnedMs };
}

/** As long as the node itself took: what comes is of the same pool. */
function bootMs({ claim }: Candidate): number {
  const bornMs = fromRfc3339(claim.metadata.creationTimestamp);
  const readyMs = fromRfc3339(condition(claim, "Initialized")?.lastTransitionTime);
  const tookMs = bornMs === undefined || readyMs === undefined ? 0 : readyMs - bornMs;
  return tookMs > 0 && tookMs <= MOST_BOOT_MS ? tookMs : BOOT_MS;
}

/** The longest that one of its pods may take to end, unless the node's own time is shorter. */
function drainMs({ claim, reschedulablePods }: Candidate): number {
  const pods = reschedulablePods.map(
    ({ spec: { terminationGracePeriodSeconds: seconds } }) =>
      (seconds ?? DEFAULT_GRACE_MS / 1_000) * 1_000,
  );
  const mostMs = parseDuration(claim.spec.terminationGracePeriod ?? "");
  return Math.min(Math.max(0, ...pods), mostMs ?? Number.POSITIVE_INFINITY);
}
