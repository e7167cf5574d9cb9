/**
 * A queue of items to process. An item waits at most once and is processed by one worker at a time. If it is added
 * during processing, it is processed again. Failed items are added again after a growing delay.
 */

import type { Clock } from "../../base/clock.ts";
import { Heap } from "../../base/heap.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { turnIsOver } from "../../base/steps.ts";
import type { Outcome } from "./controller.ts";

/**
 * How an item is retried after an error. `later`: after the backoff. `soon`: after a conflict, which does not count as
 * a failure. `never`: not until the item is added again.
 */
export type Retry = "later" | "soon" | "never";

/** The first wait after a conflict. It doubles with each one, up to the first wait after a failure. */
const SOON_MS = 100;
/**
 * Number of conflicts in a row after which another program probably writes before each write. Then the wait grows
 * further, up to {@link LONGEST_CONTESTED_MS}, and is kept also if the item is added meanwhile. Otherwise the change of
 * the other program would cause the next write at once, without end.
 */
const MANY = 10;
/** The longest wait after a conflict, in milliseconds. A deletion by a user may wait as long for its turn. */
const LONGEST_CONTESTED_MS = 5_000;

/**
 * The settings of a queue. Items with equal keys are never processed at the same time. At most `concurrency` items are
 * processed at the same time.
 */
export interface WorkQueueOptions<T> {
  readonly clock: Clock;
  readonly concurrency: number;
  readonly keyOf: (item: T) => string;
  /** Processes an item. Resolves to the time of the next processing; a rejection is retried. */
  readonly work: (item: T) => Promise<Outcome>;
  /** Decides how an error is retried. */
  readonly onError: (item: T, error: unknown) => Retry;
  readonly backoffMs: { readonly base: number; readonly max: number };
  /**
   * Returns a random number from 0 to below 1. It sets each of the first waits after conflicts between half of its
   * length and its full length. Absent: the full length.
   */
  readonly jitter?: () => number;
  /** Called with the waiting time of an item and the time of its processing. */
  readonly onDone?: (waitedMs: number, workedMs: number) => void;
  /** What an item waits for before it is processed. If it is added meanwhile, it is still processed once. */
  readonly awaitRoom?: (() => Promise<void> | undefined) | undefined;
  /** Whether the queue processes no items before `open` is called. */
  readonly held?: boolean;
}

interface Entry<T> {
  readonly item: T;
  state: "idle" | "ready" | "running" | "again";
  failures: number;
  /** Number of conflicts in a row. */
  races: number;
  /** When the item is due for its delayed retry. If it is added earlier, that replaces the retry. */
  dueMs: number | undefined;
  /** Since when the item waits or is processed. */
  sinceMs: number;
}

/**
 * A queue that processes each key once, however often it was added. A failed item is added again after a growing
 * backoff.
 */
export class WorkQueue<T> {
  readonly #options: WorkQueueOptions<T>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #delayed = new Heap<{ key: string; dueMs: number; sequence: number }>(
    (a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence),
  );
  #ready: string[] = [];
  #readyAt = 0;
  readonly #working = new Set<Entry<T>>();
  #running = 0;
  #adds = 0;
  #retries = 0;
  #sequence = 0;
  #armedForMs: number | undefined;
  #stopped = false;
  #idle: (() => void)[] = [];
  /** Whether `open` has still to be called. */
  #held: boolean;
  /** Number of items that wait for another turn of the event loop. */
  #queueing = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: WorkQueueOptions<T>) {
    this.#options = options;
    this.#held = options.held === true;
  }

  /** Starts processing, if the queue was created with `held`. */
  open(): void {
    this.#held = false;
    this.#pump();
  }

  /** Number of items that wait now, without delayed ones. */
  get depth(): number {
    return this.#ready.length - this.#readyAt;
  }

  /** Number of added items so far. An item that already waits is not counted again. */
  get adds(): number {
    return this.#adds;
  }

  /** Number of retries so far. */
  get retries(): number {
    return this.#retries;
  }

  /** The start times of items that are being processed. */
  runningSinceMs(): readonly number[] {
    return [...this.#working].map(({ sinceMs }) => sinceMs);
  }

  add(item: T): void {
    if (this.#stopped) return;
    const key = this.#options.keyOf(item);
    const entry = this.#entry(key, item);
    if (entry.state === "running") entry.state = "again";
    if (entry.races >= MANY && entry.dueMs !== undefined) return;
    entry.dueMs = undefined;
    if (entry.state !== "idle") return;
    entry.state = "ready";
    this.#adds++;
    entry.sinceMs = this.#options.clock.elapsedMs();
    this.#ready.push(key);
    this.#pump();
  }

  /** Adds the item `delayMs` from now, unless something adds it sooner. */
  addAfter(item: T, delayMs: number): void {
    if (this.#stopped) return;
    if (delayMs <= 0) {
      this.add(item);
      return;
    }
    const key = this.#options.keyOf(item);
    const entry = this.#entry(key, item);
    const dueMs = this.#options.clock.elapsedMs() + delayMs;
    if (entry.dueMs !== undefined && entry.dueMs <= dueMs) return;
    if (entry.state === "ready" || entry.state === "again") return;
    entry.dueMs = dueMs;
    this.#delayed.push({ key, dueMs, sequence: this.#sequence++ });
    this.#arm();
  }

  /** Accepts no more items. Resolves when the running ones have finished. */
  stop(): Promise<void> {
    this.#stopped = true;
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  #entry(key: string, item: T): Entry<T> {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { item, state: "idle", failures: 0, races: 0, dueMs: undefined, sinceMs: 0 };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #pump(): void {
    if (this.#held) return;
    while (!this.#stopped && this.#running < this.#options.concurrency && this.depth > 0) {
      const key = this.#ready[this.#readyAt++] as string;
      if (this.#readyAt > 1_024 && this.#readyAt * 2 > this.#ready.length) {
        this.#ready = this.#ready.slice(this.#readyAt);
        this.#readyAt = 0;
      }
      const entry = this.#entries.get(key);
      if (entry === undefined) continue;
      this.#running++;
      mustNotFail(this.#run(key, entry), "a work queue");
    }
  }

  async #run(key: string, entry: Entry<T>): Promise<void> {
    // Processing starts in a later turn, so that the code that added the item can finish first.
    await Promise.resolve();
    if (this.#queueing > 0 || turnIsOver(this.#options.clock)) await this.#anotherTurn();
    const room = this.#options.awaitRoom?.();
    if (room !== undefined) await room;
    if (this.#stopped) return this.#leave();
    const { clock, onDone } = this.#options;
    const startMs = clock.elapsedMs();
    const waitedMs = startMs - entry.sinceMs;
    entry.state = "running";
    entry.sinceMs = startMs;
    this.#working.add(entry);
    let retryMs: number | undefined;
    try {
      retryMs = (await this.#options.work(entry.item)).requeueAfterMs;
      entry.failures = 0;
      entry.races = 0;
    } catch (error) {
      retryMs = this.#retryMs(entry, this.#options.onError(entry.item, error));
    }
    this.#working.delete(entry);
    onDone?.(waitedMs, clock.elapsedMs() - startMs);
    this.#finish(key, entry, retryMs);
    this.#leave();
  }

  /** Makes room for the next item. */
  #leave(): void {
    this.#running--;
    this.#pump();
    if (this.#stopped && this.#running === 0) for (const resolve of this.#idle) resolve();
  }

  /**
   * Waits for another turn of the event loop if this one is over. Work that waits for no I/O would otherwise run in one
   * turn, and with 100,000 items other work would not run. So items start one after the other, as many as fit into a
   * turn.
   */
  #anotherTurn(): Promise<void> {
    this.#queueing++;
    const mine = this.#last.then(async () => {
      if (turnIsOver(this.#options.clock)) await this.#options.clock.sleep(0);
      this.#queueing--;
    });
    this.#last = mine;
    return mine;
  }

  #finish(key: string, entry: Entry<T>, retryMs: number | undefined): void {
    const again = entry.state === "again" && entry.races < MANY;
    entry.state = "idle";
    if (again) this.add(entry.item);
    else if (retryMs !== undefined) this.addAfter(entry.item, retryMs);
    const isFine = entry.failures === 0 && entry.races === 0;
    if (entry.state === "idle" && entry.dueMs === undefined && isFine) this.#entries.delete(key);
  }

  /** The wait before a retry in milliseconds. Undefined: no retry. */
  #retryMs(entry: Entry<T>, retry: Retry): number | undefined {
    if (retry !== "soon") entry.races = 0;
    if (retry === "never") return undefined;
    this.#retries++;
    const { backoffMs, jitter } = this.#options;
    const { base, max } = backoffMs;
    if (retry === "later") return Math.min(max, doubled(base, entry.failures++));
    const races = entry.races++;
    if (races >= MANY) return Math.min(max, LONGEST_CONTESTED_MS, doubled(base, races - MANY));
    // A random wait, so that two writers of one object do not conflict again.
    const waitMs = Math.min(base, doubled(SOON_MS, races));
    return jitter === undefined ? waitMs : Math.round((waitMs * (1 + jitter())) / 2);
  }

  #arm(): void {
    const next = this.#delayed.peek();
    if (next === undefined) return;
    if (this.#armedForMs !== undefined && this.#armedForMs <= next.dueMs) return;
    this.#armedForMs = next.dueMs;
    this.#options.clock.after(next.dueMs - this.#options.clock.elapsedMs(), () =>
      this.#ring(next.dueMs),
    );
  }

  #ring(forMs: number): void {
    if (this.#armedForMs === forMs) this.#armedForMs = undefined;
    const nowMs = this.#options.clock.elapsedMs();
    for (;;) {
      const next = this.#delayed.peek();
      if (next === undefined || next.dueMs > nowMs) break;
      this.#delayed.pop();
      const entry = this.#entries.get(next.key);
      // If the item was added or rescheduled meanwhile, its due time differs.
      if (entry === undefined || entry.dueMs !== next.dueMs) continue;
      entry.dueMs = undefined;
      this.add(entry.item);
    }
    if (!this.#stopped) this.#arm();
  }
}

function doubled(firstMs: number, times: number): number {
  return firstMs * 2 ** Math.min(times, 30);
}
