/**
 * The planning that commands use: all passes that the provisioner would make for a batch, not only the first one.
 */
import { atOnce, type Steps } from "../../base/steps.ts";
import {
  type PlayedPasses,
  playPasses,
  playPassesInSteps,
} from "../../core/answers/planning-passes.ts";
import { type PlannedBatch, planBatchInSteps } from "../../core/planner/plan-batch.ts";
import type { PlannerOptions } from "../../core/planner/planner-options.ts";
import { realPodsFirst } from "../../core/planner/real-pods-first.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import { solve } from "../../core/provisioning/solve.ts";

/** The plan after all passes, with this planner. */
export function playBatch(
  input: SchedulingInput,
  options: PlannerOptions,
): PlayedPasses<PlannedBatch> {
  return atOnce(playBatchInSteps(input, options));
}

/** Like {@link playBatch}, in steps. */
export function playBatchInSteps(
  input: SchedulingInput,
  options: PlannerOptions,
): Steps<PlayedPasses<PlannedBatch>> {
  return playPassesInSteps(input, (seen) =>
    realPodsFirst(seen.pods, (pods) => planBatchInSteps({ ...seen, pods }, options)),
  );
}

/** Passes that a plan for a fix takes for StatefulSets. There are many such plans, and none of them is printed. */
const MOST_ORDERED_FOR_FIX = 100;

/** The plan after all passes with the greedy rules. Fixes are verified with it. */
export function settledPlan(input: SchedulingInput): SchedulingResult {
  return playPasses(input, solve, MOST_ORDERED_FOR_FIX).result;
}
