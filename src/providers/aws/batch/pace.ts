/**
 * Slows one AWS call down after AWS throttled it. All callers of this call then wait together, longer each time,
 * instead of each being throttled and retrying alone. Other calls are not delayed. After a minute of waiting the error
 * is passed on. Upstream lacks this: its issue 9175.
 */
import type { Clock } from "../../../base/clock.ts";
import { isThrottled } from "../errors.ts";

const FIRST_MS = 1_000;
const LONGEST_MS = 16_000;
const ENOUGH_MS = 60_000;

/** Slows calls down after AWS throttled one, for all callers. */
export class Pace {
  readonly #clock: Clock;
  #pauseMs = 0;
  #untilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    const startMs = this.#clock.elapsedMs();
    for (;;) {
      const leftMs = this.#untilMs - this.#clock.elapsedMs();
      if (leftMs > 0) await this.#clock.sleep(leftMs);
      try {
        const answer = await call();
        this.#pauseMs = 0;
        return answer;
      } catch (error) {
        if (!isThrottled(error)) throw error;
        const nowMs = this.#clock.elapsedMs();
        if (nowMs - startMs >= ENOUGH_MS) throw error;
        // Several throttled answers at the same moment lengthen the pause only once.
        if (nowMs >= this.#untilMs) {
          this.#pauseMs = Math.min(LONGEST_MS, Math.max(FIRST_MS, this.#pauseMs * 2));
          this.#untilMs = nowMs + this.#pauseMs;
        }
      }
    }
  }
}
