/** What every plan source looks like. Each is a file beside this one; all.ts lists them in order. */
import type { Steps } from "../../../base/steps.ts";
import type { AcceptanceRule } from "../acceptance.ts";
import type { Contest } from "../contest.ts";
import type { SourceName } from "../heuristics.ts";

export interface PlanSource {
  readonly name: SourceName;
  /** What is asked of its plans. */
  readonly rule: AcceptanceRule;
  /** Whether it can make a plan for the batch that the best plan so far does not make needless. */
  applies(contest: Contest): boolean;
  /** Makes its plans and offers each of them. */
  plan(contest: Contest): Steps<void>;
}
