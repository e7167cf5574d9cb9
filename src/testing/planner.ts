/** Helpers for tests of the planner: run one improvement alone, and compare plans without their record. */
import { atOnce } from "../base/steps.ts";
import type { PlannedBatch } from "../core/planner/plan-batch.ts";
import { PlanSelection } from "../core/planner/plan-selection.ts";
import type { PlanStep } from "../core/planner/plan-step.ts";
import type { PlannerOptions } from "../core/planner/planner-options.ts";
import { greedy } from "../core/planner/sources/greedy.ts";
import type { SchedulingResult } from "../core/provisioning/result.ts";
import type { Batch } from "../core/provisioning/solve.ts";

/** The plan after the improvement. The same object if the improvement does not apply or is not accepted. */
export function improvedBy(
  improvement: PlanStep,
  batch: Batch,
  plan: SchedulingResult,
  options: PlannerOptions,
): SchedulingResult {
  const selection = new PlanSelection(batch, options);
  atOnce(selection.offer("greedy", plan, greedy.rule));
  if (improvement.applies(selection)) atOnce(improvement.plan(selection));
  return selection.best;
}

/** The plan without its record, to compare it with a plan of the greedy rules. */
export function withoutRecord({ planner: _, ...plan }: PlannedBatch): SchedulingResult {
  return plan;
}
