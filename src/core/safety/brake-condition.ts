/**
 * Shows the brake (brake.ts) as a condition of NodePools. A controller writes the condition; after a restart, and for
 * `karpenter explain`, the brake is read from it. karpenter-ts only.
 */
import { condition } from "../../apis/karpenter/conditions.ts";
import { INVOLUNTARY_ENDS_RELEASED_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { HOLD_MS } from "./brake.ts";

/** The condition of NodePools that shows the brake. */
export const BRAKE_CONDITION = "InvoluntaryEndsStopped";
/** Stands in the message between the reason and the command that releases the brake. */
const REMEDY = " To let them end now: ";

/** The state of the brake, as the condition shows it. */
export interface ShownBrake {
  readonly sinceMs: number;
  /** When the brake is released automatically. */
  readonly untilMs: number;
  /** How many nodes would be terminated, the number of all nodes, and which objects wait. */
  readonly why: string;
  /** The command with which a person releases the brake. */
  readonly release: string;
}

/** The message of the condition. */
export function brakeConditionMessage(why: string, kind: string, name: string): string {
  return `${why}${REMEDY}${releaseCommand(kind, name)}`;
}

/**
 * The brake, as the conditions of these pools show it. Undefined: it is off. A release that a person annotates on one
 * pool counts for all.
 */
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
  // If a pool was created while the brake was on, its condition has a later start. So the earliest start counts.
  return shown.sort((a, b) => a.sinceMs - b.sinceMs)[0];
}

/** The latest release that these pools record, in epoch milliseconds. 0: none. Invalid and future times are ignored. */
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
