/** The interface of every improvement. Each improvement is a file beside this one; all.ts lists them in order. */
import type { Steps } from "../../../base/steps.ts";
import type { AcceptanceRule } from "../acceptance.ts";
import type { Contest } from "../contest.ts";
import type { ImprovementName } from "../heuristics.ts";

export interface Improvement {
  readonly name: ImprovementName;
  /** The acceptance rule for an improved plan. */
  readonly rule: AcceptanceRule;
  /** Whether the best plan so far may be improved in this way. */
  applies(contest: Contest): boolean;
  /** Changes the best plan and offers the result. The new plan keeps every scheduling rule. */
  improve(contest: Contest): Steps<void>;
}
