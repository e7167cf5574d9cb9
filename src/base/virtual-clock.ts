/**
 * Simulated time that changes only when it is advanced. Timers fire by due time, equal ones in the order in which they
 * were set. All promises settle before the next timer fires, so equal seeds give equal traces on any computer.
 */
import type { Clock, Timer } from "./clock.ts";
import { Heap } from "./heap.ts";

declare function setImmediate(callback: () => void): unknown;

interface Due {
  readonly at: number;
  readonly sequence: number;
  callback: (() => void) | undefined;
}

/** The start of every simulation: 2026-01-05T08:00:00Z, a Monday. */
export const SIMULATION_EPOCH_MS = Date.UTC(2026, 0, 5, 8, 0, 0);

/** Time that changes only when it is advanced. Timers fire in order, each at its own time. */
export class VirtualClock implements Clock {
  /**
   * The start plus the time that has passed. {@link now} subtracts from it the time by which the clock was set back.
   */
  #nowMs: number;
  #setBackMs = 0;
  #isStopped = false;
  #sequence = 0;
  #fired = 0;
  readonly #timers = new Heap<Due>(
    (a, b) => a.at - b.at < 0 || (a.at === b.at && a.sequence < b.sequence),
  );

  constructor(startMs: number = SIMULATION_EPOCH_MS) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs - this.#setBackMs;
  }

  elapsedMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const due: Due = {
      at: this.#nowMs + Math.max(0, Math.ceil(delayMs)),
      sequence: this.#sequence++,
      callback,
    };
    this.#timers.push(due);
    return {
      cancel: () => {
        due.callback = undefined;
      },
    };
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  turnMs(): number {
    return 0;
  }

  /**
   * The number of timers that have fired. Without I/O, nothing changes while time passes and this stays the same. So
   * code that waits for a change need not look again.
   */
  get fired(): number {
    return this.#fired;
  }

  /** Lets all promises settle. No timer fires. */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => resolve());
    });
  }

  /** Advances time by `ms`. Fires each due timer in order, and lets promises settle after each. */
  async advance(ms: number): Promise<void> {
    await this.advanceTo(this.now() + ms);
  }

  /** From now on no timer fires, also not during an advance that has begun. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Sets the time of day back. Elapsed time and timers do not change. */
  setBack(ms: number): void {
    this.#setBackMs += ms;
  }

  /** Advances time to `untilMs`, in milliseconds since 1970. */
  async advanceTo(untilMs: number): Promise<void> {
    const targetMs = untilMs + this.#setBackMs;
    await this.settle();
    while (!this.#isStopped) {
      const next = this.#timers.peek();
      if (next === undefined || next.at > targetMs) break;
      this.#timers.pop();
      if (next.callback === undefined) continue;
      this.#nowMs = Math.max(this.#nowMs, next.at);
      this.#fired++;
      next.callback();
      await this.settle();
    }
    this.#nowMs = Math.max(this.#nowMs, targetMs);
  }

  /** Advances in steps of `stepMs` until `condition` is true. Returns false if `limitMs` passed first. */
  async advanceUntil(condition: () => boolean, limitMs: number, stepMs = 100): Promise<boolean> {
    const deadline = this.#nowMs + limitMs;
    await this.settle();
    while (!condition()) {
      if (this.#nowMs >= deadline) return false;
      await this.advance(Math.min(stepMs, deadline - this.#nowMs));
    }
    return true;
  }
}
