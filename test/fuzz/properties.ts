/**
 * Rules for every plan. The validator accepts it. It places every pod that the greedy rules place. It costs no
 * more, unless it places more pods, and gives NodePools of higher weight no fewer pods. The order of the input does
 * not matter.
 */
import type { Plan } from "../../src/cli/plan/plan.ts";
import { DEFAULT_PLANNER, GREEDY_PLANNER } from "../../src/core/planner/planner-options.ts";
import type { Scenario } from "../validator/validate.ts";
import { validate } from "../validator/validate.ts";
import { planned } from "./ours.ts";
import { schedulerFaults } from "./scheduler.ts";

/** A small budget of steps: the search is the same but shorter. */
const PLANNER = {
  ...DEFAULT_PLANNER,
  baseWork: 20_000,
  workPerPod: 100,
  nodeMicroUsdPerHour: 1_000,
  minSaving: 0,
  minPods: 0,
};

/** Sentences about the faults of the plan; empty if there are none. */
export function faultsOf(scenario: Scenario): string[] {
  const plan = planned(scenario, PLANNER);
  const byRules = planned(scenario, GREEDY_PLANNER);
  const faults = validate(scenario, plan);
  faults.push(...validate(scenario, byRules).map((fault) => `by rules alone: ${fault}`));
  const placesMore = plan.totals.placed > byRules.totals.placed;
  if (!placesMore && plan.totals.priceMicroUsdPerHour > byRules.totals.priceMicroUsdPerHour) {
    faults.push(
      `costs ${plan.totals.priceMicroUsdPerHour}, by the rules ${byRules.totals.priceMicroUsdPerHour}`,
    );
  }
  if (!placesMore) faults.push(...weightFaults(scenario, plan, byRules));
  const left = new Set(byRules.unschedulable.map(({ pod }) => pod));
  for (const { pod } of plan.unschedulable) {
    if (!left.has(pod)) faults.push(`${pod} has a place by the rules and none in the plan`);
  }
  const turned = {
    ...scenario,
    manifests: scenario.manifests.toReversed(),
    instanceTypes: scenario.instanceTypes.toReversed(),
  };
  if (JSON.stringify(planned(turned, PLANNER)) !== JSON.stringify(plan))
    faults.push("the order of the input matters");
  faults.push(...schedulerFaults(scenario, plan));
  return faults;
}

/** Weights for which the plan has fewer pods than the greedy plan in NodePools of that weight or more. */
function weightFaults({ manifests }: Scenario, plan: Plan, byRules: Plan): string[] {
  const weights = new Map<string, number>(
    manifests
      .filter(({ kind }) => kind === "NodePool")
      .map(({ metadata, spec }) => [metadata.name, spec.weight ?? 1]),
  );
  const from = ({ newNodeClaims, existingNodes }: Plan, weight: number) => {
    const heavy = newNodeClaims.filter(({ nodePool }) => (weights.get(nodePool) ?? 1) >= weight);
    return [...heavy, ...existingNodes].reduce((sum, { pods }) => sum + pods.length, 0);
  };
  // Pods on existing nodes count too, because the two plans may fill these nodes differently.
  const planned = [...plan.newNodeClaims, ...byRules.newNodeClaims];
  return [...new Set(planned.map(({ nodePool }) => weights.get(nodePool) ?? 1))]
    .filter((weight) => from(plan, weight) < from(byRules, weight))
    .map(
      (weight) =>
        `${from(plan, weight)} pods in pools of weight ${weight} and more, by the rules ${from(byRules, weight)}`,
    );
}
