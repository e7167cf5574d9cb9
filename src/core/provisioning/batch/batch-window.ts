/**
 * The batch window: how long to wait before planning, so that pods created together are planned together. The
 * controller reports triggers with the time, and sleeps until the window closes.
 * upstream: pkg/controllers/provisioning/batcher.go
 */

export interface BatchDurations {
  /** Time without a trigger that ends a window (BATCH_IDLE_DURATION). */
  readonly idleMs: number;
  /** The longest time that a window stays open (BATCH_MAX_DURATION). */
  readonly maxMs: number;
}

/** One batch window after another. The first trigger opens a window, `close` ends it. */
export class BatchWindow {
  readonly #durations: BatchDurations;
  /** UIDs of the pods and nodes that triggered in this window. Each UID extends the window only once. */
  readonly #seen = new Set<string>();
  #openedAtMs: number | undefined;
  #extendedAtMs = 0;

  constructor(durations: BatchDurations) {
    this.#durations = durations;
  }

  /** Opens a window, or extends the open one. A UID that has triggered in this window before changes nothing. */
  trigger(uid: string, nowMs: number): void {
    if (this.#seen.has(uid)) return;
    this.#seen.add(uid);
    this.#openedAtMs ??= nowMs;
    this.#extendedAtMs = nowMs;
  }

  /** When planning may start if no further trigger arrives. Undefined: no window is open. */
  get closesAtMs(): number | undefined {
    if (this.#openedAtMs === undefined) return undefined;
    const { idleMs, maxMs } = this.#durations;
    return Math.min(this.#extendedAtMs + idleMs, this.#openedAtMs + maxMs);
  }

  get openedAtMs(): number | undefined {
    return this.#openedAtMs;
  }

  /** Ends the window when its batch is planned. The next trigger opens a new window. */
  close(): void {
    this.#seen.clear();
    this.#openedAtMs = undefined;
  }
}
