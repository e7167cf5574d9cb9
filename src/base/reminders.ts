/**
 * Decides when a problem that lasts is logged: at once when it begins, then once a minute while it is found again.
 * The log then shows what is wrong now, without a line for each attempt.
 */
import type { Clock } from "./clock.ts";

const AGAIN_MS = 60_000;

/** Knows when each problem was logged last. */
export class Reminders {
  readonly #clock: Pick<Clock, "elapsedMs">;
  /** When each problem was logged last, by key. */
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

  /** Forgets the problem `key`, which has ended. Returns whether it was logged. */
  over(key: string): boolean {
    return this.#saidMs.delete(key);
  }
}
