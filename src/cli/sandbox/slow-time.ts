/** Says when the computer is too slow for the speed of the sandbox, and when that is over. */
import type { Clock, Timer } from "../../base/clock.ts";
import type { PacedClock } from "../../base/paced-clock.ts";

/** Real milliseconds between two looks. */
const LOOK_EVERY_MS = 10_000;
/** The share of real time, in percent, that must be lost in such a span before it is said. */
const SLOW_PERCENT = 50;
/** The share, in percent, below which it is over. */
const WELL_PERCENT = 10;

/** Looks every ten seconds of `real` at how much time `clock` lost. The result ends that. */
export function tellSlowTime(
  clock: Pick<PacedClock, "lostMs" | "speed">,
  real: Pick<Clock, "after" | "elapsedMs">,
  say: (line: string) => void,
): () => void {
  let isSlow = false;
  let [sinceMs, lostMs] = [real.elapsedMs(), clock.lostMs];
  let timer: Timer;
  const look = (): void => {
    const nowMs = real.elapsedMs();
    const lost = Math.min(100, (100 * (clock.lostMs - lostMs)) / Math.max(1, nowMs - sinceMs));
    [sinceMs, lostMs] = [nowMs, clock.lostMs];
    if (!isSlow && lost > SLOW_PERCENT) {
      isSlow = true;
      const speed = Number(((clock.speed * (100 - lost)) / 100).toPrecision(1));
      say(
        `this computer is too slow for speed ${clock.speed}: simulated time runs at speed ${speed}`,
      );
    } else if (isSlow && lost < WELL_PERCENT) {
      isSlow = false;
      say(`simulated time runs at speed ${clock.speed} again`);
    }
    timer = real.after(LOOK_EVERY_MS, look);
  };
  timer = real.after(LOOK_EVERY_MS, look);
  return () => timer.cancel();
}
