/**
 * Answers of AWS kept for a while by the world's clock. Equal questions asked at the same time share one
 * call; a failed call is not kept. Old entries go when new ones come, so the cache does not grow.
 */
import type { Clock } from "../../../base/clock.ts";

interface Entry<V> {
  readonly value: Promise<V>;
  /** Infinite while the call is under way. */
  untilMs: number;
}

export class TtlCache<V> {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #entries = new Map<string, Entry<V>>();

  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#clock.now() < known.untilMs) return known.value;
    this.#sweep();
    const entry: Entry<V> = { value: load(), untilMs: Number.POSITIVE_INFINITY };
    this.#entries.set(key, entry);
    entry.value.then(
      () => {
        entry.untilMs = this.#clock.now() + this.#ttlMs;
      },
      () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
      },
    );
    return entry.value;
  }

  #sweep(): void {
    const nowMs = this.#clock.now();
    for (const [key, entry] of this.#entries) {
      if (nowMs >= entry.untilMs) this.#entries.delete(key);
    }
  }
}
