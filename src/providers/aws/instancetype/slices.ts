/**
 * Work over long lists in slices: others have their turn in between. A thousand instance types with
 * their offerings take tens of milliseconds, and an answer to a health check must not wait for that.
 */
import type { Clock } from "../../../base/clock.ts";

/** A few milliseconds' worth of instance types on a slow machine. */
const SLICE = 64;

/** `make` of each item, in order. Lists of one slice are done at once. */
export async function mapInSlices<T, R>(
  clock: Clock,
  items: readonly T[],
  make: (item: T) => R,
): Promise<readonly R[]> {
  const made: R[] = [];
  for (const item of items) {
    if (made.length > 0 && made.length % SLICE === 0) await clock.sleep(0);
    made.push(make(item));
  }
  return made;
}
