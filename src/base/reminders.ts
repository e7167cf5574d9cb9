/**
 * Decides when a lasting problem is logged: at once when it begins, then once a minute while it is found again. So the
 * log shows what is wrong now, without a line for each attempt.
 */
import type { Clock } from "./clock.ts";

const AGAIN_MS = 60_000;

/** Remembers when each problem was last logged. */
export class Reminders {
  readonly #clock: Pick<Clock, "elapsedMs">;
  /** When each problem was last logged, by key. */
  readonly #saidMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Whether the problem `key`, which exists now, must be logged. If so, it counts as logged. */
  isDue(key: string): boolean {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs - (this.#saidMs.get(key) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return false;
    this.#saidMs.set(key, nowMs);
    return true;
  }

  /** Drops the problem `key`, which has ended. Returns whether it was logged. */
  over(key: string): boolean {
    return this.#saidMs.delete(key);
  }
}
