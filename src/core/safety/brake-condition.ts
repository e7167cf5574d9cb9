/**
 * The brake as a condition of NodePools: its controller writes the condition, and answers read it. karpenter-ts
 * only.
 */
import { condition } from "../../apis/karpenter/conditions.ts";
import { INVOLUNTARY_ENDS_RELEASED_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { HOLD_MS } from "./brake.ts";

/** The condition of NodePools that shows the brake. */
export const BRAKE_CONDITION = "InvoluntaryEndsStopped";
const REMEDY = " To let them end now: ";

/** The state of the brake, read from the condition, which outlives a restart. */
export interface ShownBrake {
  readonly sinceMs: number;
  /** When the brake is released without a person. */
  readonly untilMs: number;
  /** How many nodes may end, the size of the fleet, and which objects wait. */
  readonly why: string;
  /** The command by which a person releases it. */
  readonly release: string;
}

/** The message of the condition. */
export function brakeConditionMessage(why: string, kind: string, name: string): string {
  return `${why}${REMEDY}${releaseCommand(kind, name)}`;
}

/** The brake by the conditions of these pools. Undefined: it is off. A release on one pool counts for all. */
export function shownBrake(pools: readonly KubeObject[], nowMs: number): ShownBrake | undefined {
  const releasedMs = newestRelease(pools, nowMs);
  const shown = pools.flatMap((pool): readonly ShownBrake[] => {
    const found = condition(pool, BRAKE_CONDITION);
    const sinceMs = fromRfc3339(found?.lastTransitionTime);
    if (found?.status !== "True" || sinceMs === undefined) return [];
    const untilMs = sinceMs + HOLD_MS;
    if (untilMs <= nowMs || releasedMs >= sinceMs) return [];
    const [why = ""] = (found.message ?? "").split(REMEDY);
    return [
      {
        sinceMs,
        untilMs,
        why,
        release: releaseCommand(pool.kind ?? "NodePool", pool.metadata.name),
      },
    ];
  });
  // A pool that was created while the brake was on has a later start in its condition.
  return shown.sort((a, b) => a.sinceMs - b.sinceMs)[0];
}

/** The newest release on these pools, in epoch milliseconds. Unreadable and future times are ignored. */
export function newestRelease(pools: readonly KubeObject[], nowMs: number): number {
  const times = pools.map(
    ({ metadata }) =>
      fromRfc3339(metadata.annotations?.[INVOLUNTARY_ENDS_RELEASED_ANNOTATION_KEY]) ?? 0,
  );
  return Math.max(0, ...times.filter((atMs) => atMs <= nowMs));
}

function releaseCommand(kind: string, name: string): string {
  return `kubectl annotate ${kind.toLowerCase()} ${name} --overwrite ${INVOLUNTARY_ENDS_RELEASED_ANNOTATION_KEY}=$(date -u +%Y-%m-%dT%H:%M:%SZ)`;
}
