/** Which source made the plan, and why other plans were rejected. `karpenter plan -o json` shows it as `planner`. */
import type { ConditionName } from "./acceptance.ts";
import type { ImprovementName, SourceName } from "./heuristics.ts";

/** A plan that was offered to replace the best one. */
export interface Considered {
  readonly source: SourceName;
  /** The improvement that made the plan. Absent: the plan came directly from its source. */
  readonly improvement?: ImprovementName;
  /**
   * The price of the new nodes. Absent: the source stopped early, because its plan already cost more than a packing.
   */
  readonly microUsdPerHour?: number;
  /** Number of pods without a place. Absent: the price is absent, too. */
  readonly pending?: number;
  /** The condition that the plan failed. Absent: the plan was accepted, or its source stopped early. */
  readonly rejectedBy?: ConditionName;
}

export interface PlannerRecord {
  readonly source: SourceName;
  readonly improvements: readonly ImprovementName[];
  /** Whether pods that need each other on one host or in one zone (pod affinity) were placed before all others. */
  readonly hostGroupsFirst?: true;
  readonly considered: readonly Considered[];
}
