/**
 * The planner. Each plan source makes a plan of the batch, the acceptance rule keeps the best one, and improvements
 * change it. The greedy rules are the first source, so the result never costs more than the greedy plan, unless more
 * pods get a place. How to read the result: docs/guide/planner.md.
 */
import { atOnce, type Steps } from "../../base/steps.ts";
import { withinQuotas } from "../provisioning/nodes/within-quotas.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import {
  type Batch,
  importantPodsFirst,
  planOf,
  prepare,
  wholePlan,
} from "../provisioning/solve.ts";
import { affinityGroupsOf } from "../provisioning/together.ts";
import { placesMore } from "./acceptance.ts";
import { uses } from "./heuristics.ts";
import { dropNode } from "./improvements/drop-node.ts";
import { moveNode } from "./improvements/move-node.ts";
import { limitCost } from "./limit-cost.ts";
import { PlanSelection } from "./plan-selection.ts";
import type { PlanStep } from "./plan-step.ts";
import type { PlannerOptions } from "./planner-options.ts";
import type { PlannerRecord } from "./record.ts";
import { LARGEST_REPLANNED_BATCH } from "./settings.ts";
import { cheapestNode } from "./sources/cheapest-node.ts";
import { greedy } from "./sources/greedy.ts";
import { packing } from "./sources/packing.ts";
import { upstreamGreedy } from "./sources/upstream-greedy.ts";
import { strandingNodes } from "./stranding.ts";

/** The plan sources, then the improvements, in the order in which they run. */
export const PLAN_STEPS: readonly PlanStep[] = [
  greedy,
  packing,
  upstreamGreedy,
  cheapestNode,
  dropNode,
  moveNode,
];

/** The plan of a batch. */
export interface PlannedBatch extends SchedulingResult {
  /** The source of the plan, and what happened to the other plans. Absent: the policy is `greedy`. */
  readonly planner?: PlannerRecord;
}

/** Plans one batch. Pods without a place are in `unschedulable`, each with its reason. No pod makes it throw. */
export function planBatch(input: SchedulingInput, options: PlannerOptions): PlannedBatch {
  return atOnce(planBatchInSteps(input, options));
}

/** Like {@link planBatch}, but in steps, so that the caller can do other work in between. */
export function* planBatchInSteps(
  input: SchedulingInput,
  options: PlannerOptions,
): Steps<PlannedBatch> {
  return yield* importantPodsFirst(input, function* (all): Steps<PlannedBatch> {
    const batch = yield* prepare(all);
    yield;
    const { plan, record } = yield* bestPlan(batch, options);
    const ordered = yield* withFillingOrder(batch, plan, options);
    const unbounded = yield* wholePlan(batch, ordered);
    const whole = yield* withinQuotas(unbounded, all.quotaRoom);
    if (options.policy === "greedy") return whole;
    const planned = { ...whole, planner: record };
    if (isLarge(batch)) return planned;
    const cost = yield* limitCost(batch, plan, (one) => bestPlan(one, options));
    return cost === undefined ? planned : { ...planned, limitCost: cost };
  });
}

interface BestPlan {
  readonly plan: SchedulingResult;
  readonly record: PlannerRecord;
}

/** Whether the batch is planned fewer times, because each plan takes long. */
function isLarge({ queued }: Batch): boolean {
  return queued.length > LARGEST_REPLANNED_BATCH;
}

/**
 * The best plan of the batch. If a pod with a pod affinity has no place, plans again with the pods of that affinity
 * first: in the usual order, by size, larger pods may have taken the room on the host or in the zone of the group. The
 * second plan is kept if it gives a place to more pods.
 */
function* bestPlan(batch: Batch, options: PlannerOptions): Steps<BestPlan> {
  const best = yield* selectPlan(batch, options);
  if (options.policy === "greedy" || !uses(options, "hostGroupsFirst")) return best;
  const pending = new Set(best.plan.unschedulable.map(({ pod }) => pod));
  const together = yield* affinityGroupsOf(batch.queued, pending);
  if (together.size === 0) return best;
  const ahead = { ...batch, together };
  // Most groups without a place fit nowhere, in each pass. So one greedy plan shows first whether the order helps.
  if (!placesMore(yield* planOf(ahead), best.plan)) return best;
  const other = yield* selectPlan(ahead, options);
  if (!placesMore(other.plan, best.plan)) return best;
  return { plan: other.plan, record: { ...other.record, hostGroupsFirst: true } };
}

/** Runs each step that applies, until no plan can save enough. */
function* selectPlan(batch: Batch, options: PlannerOptions): Steps<BestPlan> {
  const run = new PlanSelection(batch, options);
  for (const step of options.policy === "greedy" ? [greedy] : PLAN_STEPS)
    if (!run.isSettled && run.uses(step.name) && step.applies(run)) yield* step.plan(run);
  return { plan: run.best, record: run.record };
}

/** Marks the nodes of a small batch that kube-scheduler should fill last: pods of other nodes could take their room. */
function* withFillingOrder(
  batch: Batch,
  plan: SchedulingResult,
  { policy }: PlannerOptions,
): Steps<SchedulingResult> {
  const { newClaims } = plan;
  if (policy === "greedy" || newClaims.length < 2 || isLarge(batch)) return plan;
  const last = yield* strandingNodes(batch, plan);
  if (last.size === 0) return plan;
  const ordered = newClaims.map((claim) =>
    last.has(claim) ? { ...claim, fillsLast: true as const } : claim,
  );
  return { ...plan, newClaims: ordered };
}
