/**
 * Caches answers of AWS for a time, by elapsed time. Equal questions at the same time share one call. While AWS
 * throttles or is unreachable, the last answer is used again, and the next call waits for a pause that grows. Other
 * errors are passed on at once and not cached. New entries displace expired ones, so the cache does not grow.
 */
import type { Clock } from "../../../base/clock.ts";
import { isPassing } from "../errors.ts";

/** How long an expired answer may still be used while AWS does not answer. A cache may have a shorter time. */
const STALE_MS = 3_600_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 16_000;

interface Entry<V> {
  readonly value: Promise<V>;
  /** When the answer expires. Infinite while the call is under way. */
  untilMs: number;
  /** The last answer, and how long it may still be used. */
  last: { readonly value: V; readonly untilMs: number } | undefined;
  pauseMs: number;
}

/** Answers that are cached for a time. Equal questions at the same moment share one call. */
export class TtlCache<V> {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #staleMs: number;
  readonly #entries = new Map<string, Entry<V>>();

  /** `staleMs`: how long an expired answer may still be used while AWS does not answer. */
  constructor(clock: Clock, ttlMs: number, staleMs = STALE_MS) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#staleMs = staleMs;
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#clock.elapsedMs() < known.untilMs) return known.value;
    this.#sweep();
    const entry: Entry<V> = {
      value: load().then(
        (value) => this.#keep(entry, value),
        (error) => this.#failed(key, entry, error),
      ),
      untilMs: Number.POSITIVE_INFINITY,
      last: known?.last,
      pauseMs: known?.pauseMs ?? 0,
    };
    this.#entries.set(key, entry);
    return entry.value;
  }

  #keep(entry: Entry<V>, value: V): V {
    entry.untilMs = this.#clock.elapsedMs() + this.#ttlMs;
    entry.last = { value, untilMs: entry.untilMs + this.#staleMs };
    entry.pauseMs = 0;
    return value;
  }

  #failed(key: string, entry: Entry<V>, error: unknown): V {
    const nowMs = this.#clock.elapsedMs();
    if (!isPassing(error)) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      throw error;
    }
    entry.pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, entry.pauseMs * 2));
    entry.untilMs = nowMs + entry.pauseMs;
    if (entry.last === undefined || nowMs >= entry.last.untilMs) throw error;
    return entry.last.value;
  }

  #sweep(): void {
    const nowMs = this.#clock.elapsedMs();
    for (const [key, { untilMs, last }] of this.#entries) {
      if (nowMs >= untilMs && nowMs >= (last?.untilMs ?? 0)) this.#entries.delete(key);
    }
  }
}
