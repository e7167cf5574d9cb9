/**
 * Stores the terminations that the brake has counted in an annotation of a pool, so that counting does not begin at
 * zero after a restart. The text has their number in each minute, such as
 * `2026-01-05T08:00:00Z=3,2026-01-05T08:01:00Z=2`. karpenter-ts only.
 */
import { INVOLUNTARY_ENDS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";

const MINUTE_MS = 60_000;

/** The text for these terminations. `endedMs`: epoch milliseconds. */
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
 * The terminations that are stored on these pools, in epoch milliseconds. Each counts at the last moment of its minute.
 * Only one pool has the current text, others may have older texts. So of several numbers for a minute, the largest
 * counts. Invalid text is ignored.
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
