/**
 * Simulated time that keeps pace with real time, at a given speed, as long as the machine keeps up:
 * a simulation that people watch and talk to. Timers fire in order of their due time and each has
 * its say before the next; when there is too much to do, simulated time slows down instead of
 * leaving half the world behind (a kubelet late by its own machine's fault would look dead).
 */

import type { Clock, Timer } from "./clock.ts";
import { mustNotFail } from "./must-not-fail.ts";
import { VirtualClock } from "./virtual-clock.ts";

declare function setTimeout(callback: () => void, ms: number): unknown;
declare function clearTimeout(handle: unknown): void;

/** How often time moves on; real milliseconds. */
const TICK_MS = 5;
/** Real milliseconds that one tick can make up for. Longer delays are lost. */
const CATCH_UP_MS = 50;
/** Simulated milliseconds of a jump that one tick plays: between two ticks the API answers. */
const JUMPED_AT_ONCE_MS = 1_000;

/** Virtual time that follows real time at a speed, for the sandbox. */
export class PacedClock implements Clock {
  readonly #virtual: VirtualClock;
  #speed: number;
  #isPaused = false;
  /** A jump that was asked for and is not made yet; simulated milliseconds. */
  #jumpMs = 0;
  #lastRealMs: number;
  #handle: unknown;
  #stopped = false;

  /**
   * `speed` is simulated milliseconds per real millisecond, above 0. Starts at the machine's time, or `behindMs`
   * before it: then a clock that runs ahead does not pass the machine's until it has made that up.
   */
  constructor(speed: number, behindMs = 0) {
    this.#speed = speed;
    this.#lastRealMs = Date.now();
    this.#virtual = new VirtualClock(this.#lastRealMs - behindMs);
    this.#arm();
  }

  now(): number {
    return this.#virtual.now();
  }

  elapsedMs(): number {
    return this.#virtual.elapsedMs();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#virtual.after(delayMs, callback);
  }

  sleep(delayMs: number): Promise<void> {
    return this.#virtual.sleep(delayMs);
  }

  turnMs(): number {
    return this.#virtual.turnMs();
  }

  get speed(): number {
    return this.#speed;
  }

  /** Simulated milliseconds per real millisecond from now on, above 0. */
  set speed(speed: number) {
    this.#speed = speed;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Time stands still until {@link resume}. What needs no time still happens: requests are answered. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Time passes as fast as the machine can play it, also while it is paused. */
  jump(ms: number): Promise<void> {
    const until = this.sleep(this.#jumpMs + ms);
    this.#jumpMs += ms;
    return until;
  }

  /** Time stands still for ever. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#handle);
  }

  #arm(): void {
    if (!this.#stopped)
      this.#handle = setTimeout(() => mustNotFail(this.#tick(), "the clock's tick"), TICK_MS);
  }

  async #tick(): Promise<void> {
    const realMs = Date.now();
    const passedMs = Math.min(CATCH_UP_MS, Math.max(0, realMs - this.#lastRealMs));
    this.#lastRealMs = realMs;
    const pacedMs = this.#isPaused ? 0 : Math.round(passedMs * this.#speed);
    const jumpMs = Math.min(this.#jumpMs, JUMPED_AT_ONCE_MS);
    this.#jumpMs -= jumpMs;
    await this.#virtual.advance(pacedMs + jumpMs);
    this.#arm();
  }
}
