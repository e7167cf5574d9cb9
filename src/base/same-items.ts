/** Compares lists by the identity of their items, to find out whether something made from a list must be made again. */

/** Whether both lists have the same items in the same order. */
export function haveSameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((one, at) => one === b[at]));
}
