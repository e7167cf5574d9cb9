/** Real time: the clock of a controller on a real cluster. */
import type { Clock, Timer } from "./clock.ts";

declare function setTimeout(callback: () => void, ms: number): unknown;
declare function clearTimeout(handle: unknown): void;
declare function setImmediate(callback: () => void): unknown;
declare const performance: { now(): number };

/** The longest delay of `setTimeout` in milliseconds. A longer one takes several timers. */
const MAX_TIMEOUT_MS = 0x7fffffff;

/** Measures turns of the event loop. A turn begins with the first question in it. */
export class LoopTurn {
  /** Undefined: nobody has asked in this turn. */
  #startedMs: number | undefined;

  /** Whole milliseconds since the first question in this turn. */
  ms(): number {
    const nowMs = Math.floor(performance.now());
    if (this.#startedMs === undefined) {
      this.#startedMs = nowMs;
      // Runs after this turn of the event loop, when all of its promises are settled.
      setImmediate(() => {
        this.#startedMs = undefined;
      });
    }
    return nowMs - this.#startedMs;
  }
}

/** The clock of the computer. */
export class SystemClock implements Clock {
  readonly #turn = new LoopTurn();

  now(): number {
    return Date.now();
  }

  elapsedMs(): number {
    return Math.floor(performance.now());
  }

  after(delayMs: number, callback: () => void): Timer {
    let handle: unknown;
    const dueMs = this.elapsedMs() + Math.max(0, delayMs);
    const arm = (): void => {
      const waitMs = dueMs - this.elapsedMs();
      if (waitMs > MAX_TIMEOUT_MS) handle = setTimeout(arm, MAX_TIMEOUT_MS);
      else handle = setTimeout(callback, Math.max(0, waitMs));
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  turnMs(): number {
    return this.#turn.ms();
  }
}
