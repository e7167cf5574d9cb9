/**
 * What a command costs before it saves anything: old and new nodes run side by side while the new ones start and the
 * old ones drain. karpenter-ts only: upstream counts that as free.
 */
import { condition } from "../../apis/karpenter/conditions.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { priceMicroUsd } from "../planner/plan-price.ts";
import type { Candidate } from "./candidates.ts";
import { type Command, savingsMicroUsd } from "./command.ts";

/** Start time of a node where the removed node does not show its own. */
const BOOT_MS = 3 * 60_000;
/** A longer start time is ignored: the node waited for something else. */
const MOST_BOOT_MS = 15 * 60_000;
const DEFAULT_GRACE_MS = 30_000;

export interface Payback {
  /** How long old and new nodes run side by side. */
  readonly overlapMs: number;
  /** How long after that the command has saved this cost. `Infinity`: it saves nothing. */
  readonly earnedMs: number;
}

/** How long the move must last to pay. Undefined: without a replacement, no two nodes run side by side. */
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

/** Start time of the removed node itself: the replacement is usually of the same pool. */
function bootMs({ claim }: Candidate): number {
  const bornMs = fromRfc3339(claim.metadata.creationTimestamp);
  const readyMs = fromRfc3339(condition(claim, "Initialized")?.lastTransitionTime);
  const tookMs = bornMs === undefined || readyMs === undefined ? 0 : readyMs - bornMs;
  return tookMs > 0 && tookMs <= MOST_BOOT_MS ? tookMs : BOOT_MS;
}

/** The longest grace period of its pods, or the terminationGracePeriod of the node if that is shorter. */
function drainMs({ claim, reschedulablePods }: Candidate): number {
  const pods = reschedulablePods.map(
    ({ spec: { terminationGracePeriodSeconds: seconds } }) =>
      (seconds ?? DEFAULT_GRACE_MS / 1_000) * 1_000,
  );
  const mostMs = parseDuration(claim.spec.terminationGracePeriod ?? "");
  return Math.min(Math.max(0, ...pods), mostMs ?? Number.POSITIVE_INFINITY);
}
