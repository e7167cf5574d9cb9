/** What every plan source looks like. Each is a file beside this one; all.ts lists them in order. */
import type { Steps } from "../../../base/steps.ts";
import type { AcceptanceRule } from "../acceptance.ts";
import type { Contest } from "../contest.ts";
import type { SourceName } from "../heuristics.ts";

export interface PlanSource {
  readonly name: SourceName;
  /** The acceptance rule for the plans of this source. */
  readonly rule: AcceptanceRule;
  /** Whether the source should plan this batch: it can, and the best plan so far leaves something to gain. */
  applies(contest: Contest): boolean;
  /** Makes its plans and offers each of them. */
  plan(contest: Contest): Steps<void>;
}
