/**
 * The sorted keys of a mirror, of which there may be a million. Only keys that changed since the last call are sorted.
 * The first sort can run in steps before the first call.
 */
import { firstNotBelow } from "../../base/sorted.ts";
import { mergeInSteps, type Steps, sortInSteps } from "../../base/steps.ts";

/** Number of new keys that are sorted in one step. */
const AT_ONCE = 4_096;

/** A sorted list of keys. A call sorts only the keys that were added since the last call. */
export class SortedKeys {
  /** All keys in order, at the last call of `all`. */
  #sorted: readonly string[] = [];
  /** Keys that were added and removed since that call. */
  #fresh = new Set<string>();
  #lost = new Set<string>();
  /** New keys that are being sorted in steps. Undefined: no steps are running. */
  #ordering: ReadonlySet<string> | undefined;

  add(key: string): void {
    if (!this.#lost.delete(key)) this.#fresh.add(key);
  }

  remove(key: string): void {
    if (!this.#fresh.delete(key)) this.#lost.add(key);
  }

  /** All keys in order. The same array is returned until a key is added or removed. */
  all(): readonly string[] {
    if (this.#ordering !== undefined) {
      // `all` was called before the steps ended, so the keys are sorted now.
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

  /** Sorts in steps, so that `all` has to sort only later changes. */
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

/** The index of a key among sorted keys. It is -1 if the key is missing. */
export function placeOf(sorted: readonly string[], key: string): number {
  const at = firstNotBelow(sorted.length, (index) => (sorted[index] as string) < key);
  return sorted[at] === key ? at : -1;
}
