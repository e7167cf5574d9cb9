/**
 * The clock door: the only way for anything above this floor to know the time or to wait.
 * `base/system-clock.ts` is the real one, `base/paced-clock.ts` simulated time that people watch, `base/virtual-clock.ts`
 * simulated time that moves when told to.
 */

/** A pending call that can be taken back. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/** The only source of time, so that tests and stories can run on virtual time. */
export interface Clock {
  /** Milliseconds since the Unix epoch, as this world sees them. An integer. */
  now(): number;
  /**
   * Milliseconds since some moment of the past: for how long something has lasted, or shall wait. Never goes back, while
   * the machine's clock may be set back.
   */
  elapsedMs(): number;
  /** Calls `callback` once, `delayMs` of this world's milliseconds from now (negative counts as 0). */
  after(delayMs: number, callback: () => void): Timer;
  /** Resolves `delayMs` of this world's milliseconds from now. */
  sleep(delayMs: number): Promise<void>;
  /**
   * How long, in real milliseconds, this turn of the event loop has lasted since somebody in it first asked. 0 where
   * time stands still meanwhile.
   */
  turnMs(): number;
}

/** RFC 3339 with whole seconds, as Kubernetes writes `metav1.Time`. */
export function toRfc3339(ms: number): string {
  return `${isoFromMs(ms).slice(0, 19)}Z`;
}

/** RFC 3339 with microseconds, as Kubernetes writes `metav1.MicroTime`. */
export function toRfc3339Micro(ms: number): string {
  return `${isoFromMs(ms).slice(0, 23)}000Z`;
}

/** Milliseconds since the epoch; `undefined` for a text that is no time. */
export function fromRfc3339(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

// `new Date(ms)` only formats: it never asks the machine for the time, so determinism is kept.
function isoFromMs(ms: number): string {
  return new Date(ms).toISOString();
}
