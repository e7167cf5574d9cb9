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
    spec: /./,
    target: "cluster",
    reason:
      "only run under load: with a load of 25 on two cores, 1000 pods ran after 4m47s instead of 2m, and their nodes' memory was 61 % requested instead of 65 %",
    isFlaky: true,
  },
];
