/**
 * There are two clocks: this machine's and the API server's. Either may jump by hours. If they differ, the earlier one
 * decides what is over, and the later one until when something may last. So no pod ends early because of a clock.
 */
import type { World } from "../world.ts";

type Clocks = Pick<World, "clock" | "clockSkewMs">;

/** In milliseconds. The API server's answers have whole seconds, and may have been under way for some. */
const TOLERATED_MS = 10_000;

/** Now, for the question whether a time is over: a deadline, a grace period, an age. */
export function earlierNow(clocks: Clocks): number {
  return clocks.clock.now() - Math.max(0, apartMs(clocks));
}

/** Now, for a time that is written down to be counted from: a deadline, the last event of a pod. */
export function laterNow(clocks: Clocks): number {
  return clocks.clock.now() - Math.min(0, apartMs(clocks));
}

function apartMs({ clockSkewMs }: Clocks): number {
  const skewMs = clockSkewMs() ?? 0;
  return Math.abs(skewMs) > TOLERATED_MS ? skewMs : 0;
}
