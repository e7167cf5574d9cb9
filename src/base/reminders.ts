/**
 * When to say again what still holds: at once when a problem begins, then once a minute for as long as somebody keeps
 * finding it. So a log shows what is wrong now, without a line for each of many tries.
 */
import type { Clock } from "./clock.ts";

const AGAIN_MS = 60_000;

/** Says whether a standing problem is due to be said again. */
export class Reminders {
  readonly #clock: Pick<Clock, "elapsedMs">;
  /** By key, when it was last said. */
  readonly #saidMs = new Map<string, number>();

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** Whether to say now that it is (still) so; `key` is the problem. */
  isDue(key: string): boolean {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs - (this.#saidMs.get(key) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return false;
    this.#saidMs.set(key, nowMs);
    return true;
  }

  /** It is so no more. True when it had been said. */
  over(key: string): boolean {
    return this.#saidMs.delete(key);
  }
}
