/** Binary search in lists that are sorted already. */

/**
 * The first index from 0 to `length` for which `isBelow` is false. `isBelow` must be true for all indices before it and
 * for none after it.
 */
export function firstNotBelow(length: number, isBelow: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
