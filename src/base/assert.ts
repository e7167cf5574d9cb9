/**
 * Assertions for bugs. They stay on in production: a broken invariant crashes the reconcile that met
 * it, is counted and logged, and fails any simulation. Operating errors are never asserted.
 */

/** Thrown by {@link assert}: a bug of ours, never bad input or a failing door. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** States what must hold here. One condition a call, so that the failing one is known. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}
