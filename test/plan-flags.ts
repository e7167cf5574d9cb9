/** Flags of `karpenter plan` for tests. */
import type { PlanFlags } from "../src/cli/plan/run-plan.ts";

/** `karpenter plan` by price for every batch size and saving, printed as JSON. */
export const PLAN_FLAGS: PlanFlags = {
  preferencePolicy: "Respect",
  minValuesPolicy: "Strict",
  planner: "cost",
  plannerEffort: 1,
  plannerNodeCost: 0,
  plannerMinSaving: 0,
  plannerMinPods: 1,
  output: "json",
  fix: true,
};
