/**
 * The keys of a mirror in order. They come and go by the thousand, and there may be a million: what has changed since
 * somebody last looked is put in its place, and a first look can be made ready in steps.
 */
import { mergeInSteps, type Steps, sortInSteps } from "../../base/steps.ts";

/** New keys that are sorted in one step. */
const AT_ONCE = 4_096;

/** The keys of a mirror in order, sorted again only for what changed since the last look. */
export class SortedKeys {
  /** All keys in order, as of the last call of `all`. */
  #sorted: readonly string[] = [];
  /** Keys that were added and removed since that call. */
  #fresh = new Set<string>();
  #lost = new Set<string>();
  /** New keys that are being sorted in steps. */
  #ordering: ReadonlySet<string> | undefined;

  add(key: string): void {
    if (!this.#lost.delete(key)) this.#fresh.add(key);
  }

  remove(key: string): void {
    if (!this.#fresh.delete(key)) this.#lost.add(key);
  }

  /** The same array until a key comes or goes. */
  all(): readonly string[] {
    if (this.#ordering !== undefined) {
      // `all` was called before the steps were done.
      this.#sorted = [...this.#sorted, ...this.#ordering].sort();
      this.#ordering = undefined;
    }
    const lost = this.#lost;
    if (lost.size > 0) {
      this.#sorted = this.#sorted.filter((key) => !lost.has(key));
      this.#lost = new Set();
    }
    if (this.#fresh.size > 0) {
      this.#sorted = merged(this.#sorted, [...this.#fresh].sort());
      this.#fresh = new Set();
    }
    return this.#sorted;
  }

  /** Sorts in steps, so that `all` has to add only later changes. */
  *ready(): Steps<void> {
    if (this.#fresh.size <= AT_ONCE || this.#ordering !== undefined) return;
    const own = this.#fresh;
    this.#ordering = own;
    this.#fresh = new Set();
    const fresh = yield* sortInSteps([...own], ascending);
    const sorted = yield* mergeInSteps(this.#sorted, fresh, ascending);
    if (this.#ordering !== own) return;
    this.#sorted = sorted;
    this.#ordering = undefined;
  }
}

function merged(a: readonly string[], b: readonly string[]): readonly string[] {
  if (a.length === 0) return b;
  const all: string[] = [];
  let next = 0;
  for (const key of a) {
    for (; next < b.length && (b[next] as string) < key; next++) all.push(b[next] as string);
    all.push(key);
  }
  for (; next < b.length; next++) all.push(b[next] as string);
  return all;
}

function ascending(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Where a key stands among sorted ones; -1 when it is not there. */
export function placeOf(sorted: readonly string[], key: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === key ? low : -1;
}
