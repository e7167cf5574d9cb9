/**
 * Specs of upstream's suites that fail against our operator, each with its reason. `npm run test:upstream` fails
 * when any other spec fails.
 */
import type { Target } from "./bed.ts";
import type { Suite } from "./builds.ts";

export interface KnownFailure {
  readonly suite: Suite;
  /** Matches the name of the spec: containers and leaf, joined by spaces. */
  readonly spec: RegExp;
  readonly reason: string;
  /** The only target where the spec fails. Default: both. */
  readonly target?: Target;
  /** Whether the spec passes in some runs. If false, a pass is reported, so that the list can be shortened. */
  readonly isFlaky: boolean;
}

export const KNOWN_FAILURES: readonly KnownFailure[] = [
  {
    suite: "performance",
    spec: /Self Anti-Affinity Deployment Interference/,
    reason:
      "the machine has two cores; upstream's own operator fails the spec there, too: its first 500 nodes took 11m03s of the 5 minutes allowed, ours 3m00s, and ours missed the second step",
    target: "cluster",
    isFlaky: true,
  },
];
