/** The options of the planner. Work is counted in steps, not in time, so that the same batch gets the same plan. */
import type { WithoutHeuristics } from "./heuristics.ts";
import type { DomainNow } from "./packing/domains.ts";

export interface PlannerOptions extends WithoutHeuristics {
  /** `greedy`: only upstream's rules. */
  readonly policy: "cost" | "greedy";
  /** The cost of a node beyond its machine (disk, address, agents), in micro-dollars an hour. */
  readonly nodeMicroUsdPerHour: number;
  /** The fewest pods of a batch that is packed. A fifth of this is enough if so many pods have a zone spread. */
  readonly minPods: number;
  /** Share of the greedy plan's price that a packing must save to replace it. */
  readonly minSaving: number;
  /** Steps of search for a batch of any size, some nanoseconds each. */
  readonly baseWork: number;
  /** Steps of search for each pod. The larger of this total and `baseWork` counts. */
  readonly workPerPod: number;
  /** How many orders greedy filling by dual prices tries. They use no steps of the budget. Absent: one. */
  readonly dualPriceOrders?: number;
  /** More steps, to search for a better division of spread pods over zones (packing/domain-search.ts). Absent: none. */
  readonly domainSearchWork?: number;
  /** The zone in which a spread pod runs now. The pod keeps it if the spread stays even. Absent: no pod runs yet. */
  readonly domainNow?: DomainNow;
}

/**
 * Chosen by `bench -- cost` and `bench -- speed` together. With twenty times the work T-openb costs 2.0 % less. 20,000
 * micro-dollars an hour are about the disk and the address of a node on AWS.
 */
export const DEFAULT_PLANNER: PlannerOptions = {
  policy: "cost",
  nodeMicroUsdPerHour: 20_000,
  minPods: 100,
  minSaving: 0.02,
  baseWork: 500_000,
  workPerPod: 120,
};

/** Makes the options from the settings `--planner-*`. */
export function plannerOptions(settings: {
  readonly policy: string;
  /** Factor by which the default work is multiplied. */
  readonly effort: number;
  readonly nodeUsdPerHour: number;
  readonly minSavingPercent: number;
  readonly minPods: number;
}): PlannerOptions {
  return {
    ...DEFAULT_PLANNER,
    policy: settings.policy === "greedy" ? "greedy" : "cost",
    nodeMicroUsdPerHour: Math.round(settings.nodeUsdPerHour * 1e6),
    minPods: settings.minPods,
    minSaving: settings.minSavingPercent / 100,
    baseWork: DEFAULT_PLANNER.baseWork * settings.effort,
    workPerPod: DEFAULT_PLANNER.workPerPod * settings.effort,
  };
}

export const GREEDY_PLANNER: PlannerOptions = { ...DEFAULT_PLANNER, policy: "greedy" };
