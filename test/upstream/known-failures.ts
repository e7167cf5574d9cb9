/**
 * Specs of upstream's suites that fail against our operator, each with its reason. `npm run test:upstream`
 * fails on any other.
 */
import type { Target } from "./bed.ts";
import type { Suite } from "./builds.ts";

export interface KnownFailure {
  readonly suite: Suite;
  /** Against the name of the spec: containers and leaf, joined by spaces. Go reads it too: no look-ahead. */
  readonly spec: RegExp;
  readonly reason: string;
  /** Only there. Default: on both. */
  readonly target?: Target;
  /** It passes in some runs; if not, a pass is reported, so that the list only holds what fails. */
  readonly isFlaky: boolean;
  /** It is not run, unless `--all` or a focus asks for it. Default false. */
  readonly isLeftOut?: boolean;
}

const NOT_BUILT = {
  scrape: "kube-apiserver cannot reach a pod of the bed, so the suite reads no samples",
} as const;

/** What is not built takes the suite's 15 minutes of waiting for each spec: `npm run test:upstream` leaves it out. */
export const KNOWN_FAILURES: readonly KnownFailure[] = [
  notBuilt("performance", /./, NOT_BUILT.scrape),
];

function notBuilt(suite: Suite, spec: RegExp, reason: string): KnownFailure {
  return { suite, spec, reason, target: "cluster", isFlaky: false, isLeftOut: true };
}
