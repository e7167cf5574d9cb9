/**
 * Simulated time: a heap of timers ordered by (due, sequence) that moves only when told to. Between
 * two timers lies one macrotask boundary, which drains promise chains of any depth, so that equal
 * seeds give equal traces whatever the machine is doing.
 */
import type { Clock, Timer } from "./clock.ts";
import { Heap } from "./heap.ts";

declare function setImmediate(callback: () => void): unknown;

interface Due {
  readonly at: number;
  readonly sequence: number;
  callback: (() => void) | undefined;
}

/** 2026-01-05T08:00:00Z, a Monday morning: the fixed beginning of every simulation. */
export const SIMULATION_EPOCH_MS = Date.UTC(2026, 0, 5, 8, 0, 0);

/** Time that moves only when it is advanced. Timers run in order, each at its own moment. */
export class VirtualClock implements Clock {
  /** What has passed, from the moment of the start on: {@link now}, but for what that was set back by. */
  #nowMs: number;
  #setBackMs = 0;
  #sequence = 0;
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

  /** Lets everything that needs no time happen: drains all promise chains, fires no timer. */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => resolve());
    });
  }

  /** Moves time forward by `ms`, firing each due timer in order and settling after each. */
  async advance(ms: number): Promise<void> {
    await this.advanceTo(this.now() + ms);
  }

  /** Sets the time of day back. Elapsed time and timers do not change. */
  setBack(ms: number): void {
    this.#setBackMs += ms;
  }

  /** Moves time forward to `untilMs` (epoch milliseconds). */
  async advanceTo(untilMs: number): Promise<void> {
    const targetMs = untilMs + this.#setBackMs;
    await this.settle();
    for (;;) {
      const next = this.#timers.peek();
      if (next === undefined || next.at > targetMs) break;
      this.#timers.pop();
      if (next.callback === undefined) continue;
      this.#nowMs = Math.max(this.#nowMs, next.at);
      next.callback();
      await this.settle();
    }
    this.#nowMs = Math.max(this.#nowMs, targetMs);
  }

  /** Advances in steps of `stepMs` until `condition` holds; false when `limitMs` passed first. */
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
