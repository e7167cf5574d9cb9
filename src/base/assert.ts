/**
 * Assertions for bugs. They are also checked in production: a failed one ends the reconcile, is counted and logged, and
 * fails any simulation. Bad input and failing requests are errors, not assertions.
 */

/** Thrown by {@link assert}: a bug in this program. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** Throws if the condition is false. Assert one condition in each call, so that the failed one is known. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}
