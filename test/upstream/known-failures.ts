/**
 * Specs of upstream's suites that fail against our operator, each with its reason. `npm run test:upstream`
 * fails on any other.
 */
import type { Suite } from "./builds.ts";

export interface KnownFailure {
  readonly suite: Suite;
  /** Against the name of the spec: containers and leaf, joined by spaces. */
  readonly spec: RegExp;
  readonly reason: string;
  /** It passes in some runs; if not, a pass is reported, so that the list only holds what fails. */
  readonly isFlaky: boolean;
}

export const KNOWN_FAILURES: readonly KnownFailure[] = [];
