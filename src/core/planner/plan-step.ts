/** The interface of every plan source and every improvement. plan-batch.ts lists them in order. */
import type { Steps } from "../../base/steps.ts";
import type { AcceptanceRule } from "./acceptance.ts";
import type { ImprovementName, SourceName } from "./heuristics.ts";
import type { PlanSelection } from "./plan-selection.ts";

export interface PlanStep {
  readonly name: SourceName | ImprovementName;
  readonly rule: AcceptanceRule;
  /** Whether the step can plan this batch, and its plan may replace the best one so far. */
  applies(selection: PlanSelection): boolean;
  /** Makes plans that keep every scheduling rule, and offers each of them. An improvement changes the best plan. */
  plan(selection: PlanSelection): Steps<void>;
}
