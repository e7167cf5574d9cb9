/** How much the planner may look for. All of it is counted in work, not in time: plans repeat. */
import type { DomainNow } from "./packing/domains.ts";

export interface PlannerOptions {
  /** `greedy`: upstream's rules alone. */
  readonly policy: "cost" | "greedy";
  /** What a node costs an hour beyond its machine: its disk, its address, its agents. */
  readonly nodeMicroUsdPerHour: number;
  /**
   * Smaller batches follow the rules alone: there is little to save, and few nodes are wanted. A fifth is enough of
   * pods that are spread over zones, where the rules cost most.
   */
  readonly minPods: number;
  /** Share of the rules' cost that must be saved for the packing to be taken. */
  readonly minSaving: number;
  /** Steps of search for any batch, and for each pod where that is more. A step is some nanoseconds. */
  readonly baseWork: number;
  readonly workPerPod: number;
  /** Most types that are weighed for each set of requirements at first; others join when they do better. */
  readonly maxBins: number;
  /** Orders in which greed fills by what the columns taught, which takes no work of the above. Absent: one. */
  readonly learnedOrders?: number;
  /** Steps of search more, for a better division of pods that are spread over zones (exchange.ts). Absent: none. */
  readonly exchangeWork?: number;
  /** Pods that are spread over zones stay in theirs as far as that keeps the spread. Absent: they run nowhere yet. */
  readonly domainNow?: DomainNow;
}

export const DEFAULT_PLANNER: PlannerOptions = {
  policy: "cost",
  nodeMicroUsdPerHour: 20_000,
  minPods: 100,
  minSaving: 0.02,
  baseWork: 500_000,
  workPerPod: 120,
  maxBins: 16,
};

/** The settings as people give them. */
export function plannerOptions(settings: {
  readonly policy: string;
  /** Times the default work. */
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
