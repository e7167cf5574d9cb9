/** The options of the planner. Work is counted in steps, not in time, so that the same batch gets the same plan. */
import type { WithoutHeuristics } from "./heuristics.ts";
import type { DomainNow } from "./packing/domains.ts";

export interface PlannerOptions extends WithoutHeuristics {
  /** `cost`: the cheapest plan of all sources. `greedy`: only the greedy rules. */
  readonly policy: "cost" | "greedy";
  /** The cost of a node beyond its instance (disk, address, agents), in micro-dollars an hour. */
  readonly nodeMicroUsdPerHour: number;
  /** The fewest pods of a batch that is packed. A fifth as many are enough if they have a zone spread. */
  readonly minPods: number;
  /** Share of a plan's price that another plan must save to replace it (0.02 = 2 %), where the rule says `setting`. */
  readonly minSaving: number;
  /** The least work that a search may do for a batch, in steps of some nanoseconds each. */
  readonly baseWork: number;
  /** Steps of search for each packed pod. The planner uses pods × this number or `baseWork`, whichever is larger. */
  readonly workPerPod: number;
  /** How many orders of pods a packing also fills greedily by its dual prices, beyond its budget. Absent: one. */
  readonly dualPriceOrders?: number;
  /** Extra steps to search for a better division of spread pods over zones (packing/domain-search.ts). Absent: none. */
  readonly domainSearchWork?: number;
  /**
   * Finds the domain where a pod with topology spread runs, so that the pod can stay there. Absent: no pod runs yet.
   */
  readonly domainNow?: DomainNow;
}

/**
 * The default options, chosen by `bench -- cost` and `bench -- speed` together. Twenty times the work saves 2.0 % in
 * the benchmark case T-openb. 20,000 micro-dollars an hour are about the disk and the address of a node on AWS.
 */
export const DEFAULT_PLANNER: PlannerOptions = {
  policy: "cost",
  nodeMicroUsdPerHour: 20_000,
  minPods: 100,
  minSaving: 0.02,
  baseWork: 500_000,
  workPerPod: 120,
};

/** Makes the planner's options from the values of the `--planner-*` flags. */
export function plannerOptions(settings: {
  readonly policy: string;
  /** The factor by which `baseWork` and `workPerPod` are multiplied. */
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
