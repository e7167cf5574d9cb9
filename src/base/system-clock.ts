/**
 * Real time, optionally sped up: at speed 30 a simulated second lasts 33 real milliseconds. A real
 * cluster always runs at speed 1.
 */
import type { Clock, Timer } from "./clock.ts";

declare function setTimeout(callback: () => void, ms: number): unknown;
declare function clearTimeout(handle: unknown): void;

/** The longest delay the platform's timer takes; longer ones are chained. */
const MAX_TIMEOUT_MS = 0x7fffffff;

export class SystemClock implements Clock {
  readonly #speed: number;
  readonly #originMs: number;

  /** `speed` is simulated seconds per real second, above 0. */
  constructor(speed = 1) {
    this.#speed = speed;
    this.#originMs = Date.now();
  }

  now(): number {
    const realMs = Date.now();
    if (this.#speed === 1) return realMs;
    return Math.floor(this.#originMs + (realMs - this.#originMs) * this.#speed);
  }

  after(delayMs: number, callback: () => void): Timer {
    let handle: unknown;
    const dueRealMs = Date.now() + Math.max(0, delayMs) / this.#speed;
    const arm = (): void => {
      const waitMs = dueRealMs - Date.now();
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
}
