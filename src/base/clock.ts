/**
 * The clock: the only way for other code to know the time or to wait. Real time is in `base/system-clock.ts`. Simulated
 * time that follows real time is in `base/paced-clock.ts`. Simulated time that changes only when it is advanced is in
 * `base/virtual-clock.ts`.
 */

/** A pending call. Cancelling it twice, or after the call, has no effect. */
export interface Timer {
  cancel(): void;
}

/** The only source of time, so that tests and simulations can run on virtual time. */
export interface Clock {
  /** Milliseconds since 1970 on this clock, as an integer. */
  now(): number;
  /**
   * Milliseconds since a fixed moment, to measure durations (the monotonic clock). It never decreases, even if the
   * computer's clock is set back.
   */
  elapsedMs(): number;
  /** Calls `callback` once, after `delayMs` milliseconds of this clock. A negative delay counts as 0. */
  after(delayMs: number, callback: () => void): Timer;
  /** Resolves after `delayMs` milliseconds of this clock. */
  sleep(delayMs: number): Promise<void>;
  /**
   * Real milliseconds since this was first called in the current turn of the event loop. Always 0 on a virtual clock,
   * so that a simulation does the same in the same order, however slow the computer is.
   */
  turnMs(): number;
}

/** The time as RFC 3339 with whole seconds, as Kubernetes writes `metav1.Time`. */
export function toRfc3339(ms: number): string {
  return `${isoFromMs(ms).slice(0, 19)}Z`;
}

/** The time as RFC 3339 with microseconds, as Kubernetes writes `metav1.MicroTime`. */
export function toRfc3339Micro(ms: number): string {
  return `${isoFromMs(ms).slice(0, 23)}000Z`;
}

/** Milliseconds since 1970. Undefined: the text is not a time. */
export function fromRfc3339(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

// `new Date(ms)` only formats a given time. It does not read the computer's clock.
function isoFromMs(ms: number): string {
  return new Date(ms).toISOString();
}
