/** The interface of every plan source. Each source is a file beside this one; all.ts lists them in order. */
import type { Steps } from "../../../base/steps.ts";
import type { AcceptanceRule } from "../acceptance.ts";
import type { SourceName } from "../heuristics.ts";
import type { PlanSelection } from "../plan-selection.ts";

export interface PlanSource {
  readonly name: SourceName;
  readonly rule: AcceptanceRule;
  /** Whether the source can plan this batch, and its plan may replace the best one so far. */
  applies(selection: PlanSelection): boolean;
  /** Makes the plans of this source and offers each of them. */
  plan(selection: PlanSelection): Steps<void>;
}
