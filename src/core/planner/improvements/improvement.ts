/** The interface of every improvement. Each improvement is a file beside this one; all.ts lists them in order. */
import type { Steps } from "../../../base/steps.ts";
import type { AcceptanceRule } from "../acceptance.ts";
import type { ImprovementName } from "../heuristics.ts";
import type { PlanSelection } from "../plan-selection.ts";

export interface Improvement {
  readonly name: ImprovementName;
  readonly rule: AcceptanceRule;
  /** Whether the best plan so far may be improved in this way. */
  applies(selection: PlanSelection): boolean;
  /** Changes the best plan and offers the result. The new plan keeps every scheduling rule. */
  improve(selection: PlanSelection): Steps<void>;
}
