/**
 * Counts of pods by host number, for a topology rule over hosts. Hosts stay in the map with a count of 0, because a Map
 * that deletes entries slows down. Host numbers are used again, so the map does not grow without end.
 */
export class HostCounts {
  readonly #counts = new Map<number, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The count of a host; 0 if it has none. */
  get(host: number): number {
    return this.#counts.get(host) ?? 0;
  }

  set(host: number, count: number): void {
    const before = this.get(host);
    if (before === count) return;
    if (before === 0) this.#size++;
    if (count === 0) this.#size--;
    this.#counts.set(host, count);
  }

  /** All hosts with a count, in no defined order. */
  *entries(): Iterable<readonly [host: number, count: number]> {
    for (const entry of this.#counts) if (entry[1] !== 0) yield entry;
  }
}
