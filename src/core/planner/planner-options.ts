/** How much the planner may look for. All of it is counted in work, not in time: plans repeat. */
export interface PlannerOptions {
  /** `greedy`: upstream's rules alone. */
  readonly policy: "cost" | "greedy";
  /** What a node costs an hour beyond its machine: its disk, its address, its agents. */
  readonly nodeMicroUsdPerHour: number;
  /** Steps of search for any batch, and more for each pod. A step is some nanoseconds. */
  readonly baseWork: number;
  readonly workPerPod: number;
  /** Most types that are weighed for each set of requirements. */
  readonly maxBins: number;
}

export const DEFAULT_PLANNER: PlannerOptions = {
  policy: "cost",
  nodeMicroUsdPerHour: 5_000,
  baseWork: 300_000,
  workPerPod: 150,
  maxBins: 48,
};

export const GREEDY_PLANNER: PlannerOptions = { ...DEFAULT_PLANNER, policy: "greedy" };
