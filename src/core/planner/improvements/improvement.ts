/** What every improvement looks like. Each is a file beside this one; all.ts lists them in order. */
import type { Steps } from "../../../base/steps.ts";
import type { AcceptanceRule } from "../acceptance.ts";
import type { Contest } from "../contest.ts";
import type { ImprovementName } from "../heuristics.ts";

export interface Improvement {
  readonly name: ImprovementName;
  /** What is asked of an improved plan. */
  readonly rule: AcceptanceRule;
  /** Whether the best plan so far may be improved in this way. */
  applies(contest: Contest): boolean;
  /** Changes the best plan and offers what comes of it; keeps every rule between pods and nodes. */
  improve(contest: Contest): Steps<void>;
}
