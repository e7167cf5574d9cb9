/**
 * Chooses between two clocks: that of this process and that of the API server. Either may jump by hours. If they
 * differ, the earlier time decides whether a deadline is over, and new deadlines are set from the later time. So no pod
 * is deleted too early because of a wrong clock.
 */
import type { World } from "../world.ts";

type Clocks = Pick<World, "clock" | "clockSkewMs">;

/**
 * Clocks that differ by no more milliseconds than this count as equal. Times in responses have whole seconds, and a
 * response may be late.
 */
const TOLERATED_MS = 10_000;

/** The time of the clock that is behind. It decides whether a deadline, grace period or age is over. */
export function earlierNow(clocks: Clocks): number {
  return clocks.clock.now() - Math.max(0, apartMs(clocks));
}

/**
 * The time of the clock that is ahead. Used for times from which others will count, such as a deadline or the last
 * event of a pod.
 */
export function laterNow(clocks: Clocks): number {
  return clocks.clock.now() - Math.min(0, apartMs(clocks));
}

function apartMs({ clockSkewMs }: Clocks): number {
  const skewMs = clockSkewMs() ?? 0;
  return Math.abs(skewMs) > TOLERATED_MS ? skewMs : 0;
}
