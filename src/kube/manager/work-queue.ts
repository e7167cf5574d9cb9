/**
 * A queue of things to look at: each waits at most once, is worked on by one worker at a time, and is
 * looked at again if it was asked for meanwhile. Failing items come back with growing delay.
 */

import type { Clock } from "../../base/clock.ts";
import { Heap } from "../../base/heap.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { turnIsOver } from "../../base/steps.ts";
import type { Outcome } from "./controller.ts";

/** `soon`: it only came too late, and counts as no failure. `never`: until it is asked for again. */
export type Retry = "later" | "soon" | "never";

/** How soon at first; then twice as long each time, up to what a failure waits at first. */
const SOON_MS = 100;

/** Equal keys are never processed at the same time; at most `concurrency` items are. */
export interface WorkQueueOptions<T> {
  readonly clock: Clock;
  readonly concurrency: number;
  readonly keyOf: (item: T) => string;
  /** Resolves with when to look again; rejects to be tried again with backoff. */
  readonly work: (item: T) => Promise<Outcome>;
  /** What to do about a failure. */
  readonly onError: (item: T, error: unknown) => Retry;
  readonly backoffMs: { readonly base: number; readonly max: number };
  /** In [0, 1): how much of the second half of its wait who came too late waits. Absent: all of it. */
  readonly jitter?: () => number;
  /** Called with the waiting time of an item and the time of its processing. */
  readonly onDone?: (waitedMs: number, workedMs: number) => void;
  /** Takes items in, and works on none before it is opened. */
  readonly held?: boolean;
}

interface Entry<T> {
  readonly item: T;
  state: "idle" | "ready" | "running" | "again";
  failures: number;
  /** How often in a row it came too late. */
  races: number;
  /** The one delayed call that counts; later ones replace it, sooner ones win. */
  dueMs: number | undefined;
  /** Since when it waits, then since when it is worked on. */
  sinceMs: number;
}

/** Keys to process, each once however often it was added. A failed item returns after a growing backoff. */
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
  /** Held back until `open`. */
  #held: boolean;
  /** Items that wait for another turn, and the last of them. */
  #queueing = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: WorkQueueOptions<T>) {
    this.#options = options;
    this.#held = options.held === true;
  }

  /** Begins to work, where it was held back. */
  open(): void {
    this.#held = false;
    this.#pump();
  }

  /** Items waiting now (not the delayed ones). */
  get depth(): number {
    return this.#ready.length - this.#readyAt;
  }

  /** Items taken in so far; one that waits already is not taken in again. */
  get adds(): number {
    return this.#adds;
  }

  /** Items that failed and are to be tried again, so far. */
  get retries(): number {
    return this.#retries;
  }

  /** Since when each item under way is worked on. */
  runningSinceMs(): readonly number[] {
    return [...this.#working].map(({ sinceMs }) => sinceMs);
  }

  add(item: T): void {
    if (this.#stopped) return;
    const key = this.#options.keyOf(item);
    const entry = this.#entry(key, item);
    entry.dueMs = undefined;
    if (entry.state === "running") entry.state = "again";
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

  /** Takes no more items; resolves when the running ones have ended. */
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

  /** Makes room for the next. */
  #leave(): void {
    this.#running--;
    this.#pump();
    if (this.#stopped && this.#running === 0) for (const resolve of this.#idle) resolve();
  }

  /**
   * Work that needs no answer from outside goes on in one turn, whatever it awaits: with a hundred thousand items nobody
   * else would get one. So items begin one after the other, as many as a turn has room for.
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
    const again = entry.state === "again";
    entry.state = "idle";
    if (again) this.add(entry.item);
    else if (retryMs !== undefined) this.addAfter(entry.item, retryMs);
    const isFine = entry.failures === 0 && entry.races === 0;
    if (entry.state === "idle" && entry.dueMs === undefined && isFine) this.#entries.delete(key);
  }

  /** Undefined: not at all. */
  #retryMs(entry: Entry<T>, retry: Retry): number | undefined {
    if (retry === "never") return undefined;
    this.#retries++;
    const { backoffMs, jitter } = this.#options;
    const { base, max } = backoffMs;
    if (retry === "later") return Math.min(max, doubled(base, entry.failures++));
    // Not in step with the rival, nor with all others that lost to the same one.
    const waitMs = Math.min(base, doubled(SOON_MS, entry.races++));
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
      // An entry that was added or re-timed meanwhile has another due time.
      if (entry !== undefined && entry.dueMs === next.dueMs) this.add(entry.item);
    }
    if (!this.#stopped) this.#arm();
  }
}

function doubled(firstMs: number, times: number): number {
  return firstMs * 2 ** Math.min(times, 30);
}
