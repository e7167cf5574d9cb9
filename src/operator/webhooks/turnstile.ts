/**
 * Lets long computations run one after the other, with a rest after each. Anybody who reaches the webhooks' port may
 * send reviews of 32 MiB, each of which holds the event loop for up to a second while it is parsed. Without rests, the
 * Lease would not be renewed in time, and the controller would lose the lead.
 */
import type { Clock } from "../../base/clock.ts";
import { type Steps, stepRunner, TURN_MS } from "../../base/steps.ts";
import { CallerGone } from "../../listen/exchange.ts";

/** Runs one computation at a time. */
export class Turnstile {
  readonly #clock: Pick<Clock, "elapsedMs" | "after" | "sleep" | "turnMs">;
  #last: Promise<void> = Promise.resolve();

  constructor(clock: Pick<Clock, "elapsedMs" | "after" | "sleep" | "turnMs">) {
    this.#clock = clock;
  }

  /**
   * Runs the computation in turns of the event loop, after all earlier ones and their rests. The rest is as long as
   * steps held the event loop beyond their turns, so that other work gets at least half of the time. Rejects with
   * CallerGone if `gone` is aborted before it begins.
   */
  async pass<T>(gone: AbortSignal, steps: Steps<T>): Promise<T> {
    const clock = this.#clock;
    const before = this.#last;
    let open = (): void => undefined;
    this.#last = new Promise((resolve) => {
      open = resolve;
    });
    await before;
    let heldMs = 0;
    const tell = (ms: number): void => {
      heldMs += Math.max(0, ms - TURN_MS);
    };
    const startMs = clock.elapsedMs();
    try {
      if (gone.aborted) throw new CallerGone();
      return await stepRunner(clock, TURN_MS, { clock, tell })(steps);
    } catch (error) {
      // The failed step was not measured.
      heldMs = clock.elapsedMs() - startMs;
      throw error;
    } finally {
      clock.after(heldMs, open);
    }
  }
}
