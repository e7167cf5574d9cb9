/** What a command costs before it saves anything: old and new nodes run side by side for a time. karpenter-ts only. */
import { condition } from "../../apis/karpenter/conditions.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { priceMicroUsd } from "../planner/plan-price.ts";
import type { Candidate } from "./candidates.ts";
import { type Command, savingsMicroUsd } from "./command.ts";

/** The assumed start time of a new node, if the removed node does not show how long its own start took. */
const BOOT_MS = 3 * 60_000;
/** A start that took longer than this is ignored: the node probably waited for something else. */
const MOST_BOOT_MS = 15 * 60_000;
const DEFAULT_GRACE_MS = 30_000;

/** How long a command costs more before its savings begin, and how long it takes to earn that back. */
export interface Payback {
  /** How long old and new nodes run side by side. */
  readonly overlapMs: number;
  /** After the overlap: the time until savings equal the cost of the overlap. `Infinity`: nothing is saved. */
  readonly earnedMs: number;
}

/** How long the command takes to earn its cost. Undefined: it has no replacement, so it costs nothing. */
export function paybackOf(command: Command): Payback | undefined {
  const { candidates, replacements } = command;
  if (replacements.length === 0) return undefined;
  const overlapMs =
    Math.max(...candidates.map(bootMs)) + Math.max(...candidates.map((one) => drainMs(one)));
  const newMicroUsd = priceMicroUsd({ newClaims: replacements });
  const saved = savingsMicroUsd(command);
  const earnedMs =
    saved <= 0 ? Number.POSITIVE_INFINITY : Math.ceil((newMicroUsd * overlapMs) / saved);
  return { overlapMs, earnedMs };
}

/** How long the removed node took to start. Its replacement, usually of the same pool, will take about as long. */
function bootMs({ claim }: Candidate): number {
  const bornMs = fromRfc3339(claim.metadata.creationTimestamp);
  const readyMs = fromRfc3339(condition(claim, "Initialized")?.lastTransitionTime);
  const tookMs = bornMs === undefined || readyMs === undefined ? 0 : readyMs - bornMs;
  return tookMs > 0 && tookMs <= MOST_BOOT_MS ? tookMs : BOOT_MS;
}

/** The longest grace period of the node's pods, or the terminationGracePeriod of the node, if that is shorter. */
function drainMs({ claim, reschedulablePods }: Candidate): number {
  const pods = reschedulablePods.map(
    ({ spec: { terminationGracePeriodSeconds: seconds } }) =>
      (seconds ?? DEFAULT_GRACE_MS / 1_000) * 1_000,
  );
  const mostMs = parseDuration(claim.spec.terminationGracePeriod ?? "");
  return Math.min(Math.max(0, ...pods), mostMs ?? Number.POSITIVE_INFINITY);
}
