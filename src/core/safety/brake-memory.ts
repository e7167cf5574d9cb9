/**
 * What the brake has counted, as it is kept on a pool, so that a process that takes over begins with no fresh
 * allowance: so many ends in this minute, `2026-01-05T08:00:00Z=3,2026-01-05T08:01:00Z=2`. karpenter-ts only.
 */
import { INVOLUNTARY_ENDS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";

const MINUTE_MS = 60_000;

/** `endedMs`: epoch ms. */
export function endsText(endedMs: readonly number[]): string {
  const counts = new Map<number, number>();
  for (const atMs of endedMs) {
    const minuteMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    counts.set(minuteMs, (counts.get(minuteMs) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([minuteMs, count]) => `${toRfc3339(minuteMs)}=${count}`)
    .join(",");
}

/**
 * What these pools keep, in epoch ms, each end as late as it may have been. All of it is written on one pool; another
 * may bear what was written there before. What cannot be read counts as nothing.
 */
export function keptEnds(pools: readonly KubeObject[]): readonly number[] {
  const counts = new Map<number, number>();
  for (const { metadata } of pools) {
    for (const part of (metadata.annotations?.[INVOLUNTARY_ENDS_ANNOTATION_KEY] ?? "").split(",")) {
      const [time, amount = ""] = part.split("=");
      const minuteMs = fromRfc3339(time);
      if (minuteMs === undefined || !/^\d{1,6}$/.test(amount)) continue;
      counts.set(minuteMs, Math.max(counts.get(minuteMs) ?? 0, Number(amount)));
    }
  }
  return [...counts]
    .sort(([a], [b]) => a - b)
    .flatMap(([minuteMs, count]) => Array<number>(count).fill(minuteMs + MINUTE_MS - 1));
}
