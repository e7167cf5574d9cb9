/**
 * Simulated time that follows real time at a given speed, for simulations that people watch. Timers fire in the order
 * of their due times. Time stands still until the work of a timer has ended, also if this work lets the event loop run
 * by `sleep(0)`. So if the computer is too slow, simulated time slows down. Otherwise a simulated kubelet could miss its
 * heartbeats and seem to have failed.
 */

import type { Clock, Timer } from "./clock.ts";
import { mustNotFail } from "./must-not-fail.ts";
import { LoopTurn } from "./system-clock.ts";
import { VirtualClock } from "./virtual-clock.ts";

declare function setTimeout(callback: () => void, ms: number): unknown;
declare function clearTimeout(handle: unknown): void;

/** Real milliseconds between two advances of simulated time. */
const TICK_MS = 5;
/** The most real milliseconds by which one tick advances. Longer delays are ignored. */
const CATCH_UP_MS = 50;
/** The most simulated milliseconds of a jump in one tick. The API server answers requests between two ticks. */
const JUMPED_AT_ONCE_MS = 1_000;

/** Virtual time that follows real time at a given speed, for the sandbox. */
export class PacedClock implements Clock {
  readonly #virtual: VirtualClock;
  readonly #turn = new LoopTurn();
  #speed: number;
  #isPaused = false;
  /** Simulated milliseconds of the jump that remain. */
  #jumpMs = 0;
  #lastRealMs: number;
  #lostMs = 0;
  /** Whether the last tick only followed real time: the clock was not paused and did not jump. */
  #isFollowing = true;
  #handle: unknown;
  #stopped = false;

  /**
   * `speed`: simulated milliseconds for each real millisecond, above 0. `behindMs`: how far behind real time the clock
   * starts. If the clock runs faster than real time, its time is then still in the past for a while.
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
    return this.#turn.ms();
  }

  get speed(): number {
    return this.#speed;
  }

  /** Simulated milliseconds for each real millisecond from now on, above 0. */
  set speed(speed: number) {
    this.#speed = speed;
  }

  /**
   * Real milliseconds since the start in which simulated time stood still, because the computer was too slow. Jumps do
   * not count.
   */
  get lostMs(): number {
    return this.#lostMs;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Stops time until {@link resume}. Requests are still answered, because that needs no simulated time. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Advances time by `ms` as fast as the computer can, even while the clock is paused. */
  jump(ms: number): Promise<void> {
    const until = this.sleep(this.#jumpMs + ms);
    this.#jumpMs += ms;
    return until;
  }

  /** Stops time for good. Work that lets the event loop run by `sleep(0)` is not resumed. */
  stop(): void {
    this.#stopped = true;
    this.#virtual.stop();
    clearTimeout(this.#handle);
  }

  #arm(): void {
    if (!this.#stopped)
      this.#handle = setTimeout(() => mustNotFail(this.#tick(), "the clock's tick"), TICK_MS);
  }

  async #tick(): Promise<void> {
    const realMs = Date.now();
    const passedMs = Math.min(CATCH_UP_MS, Math.max(0, realMs - this.#lastRealMs));
    if (this.#isFollowing) this.#lostMs += Math.max(0, realMs - this.#lastRealMs - passedMs);
    this.#lastRealMs = realMs;
    const pacedMs = this.#isPaused ? 0 : Math.round(passedMs * this.#speed);
    const jumpMs = Math.min(this.#jumpMs, JUMPED_AT_ONCE_MS);
    this.#jumpMs -= jumpMs;
    this.#isFollowing = !this.#isPaused && jumpMs === 0;
    await this.#virtual.advance(pacedMs + jumpMs);
    this.#arm();
  }
}
