/** Which source planned a batch, and why other plans were rejected. Shown as `planner` in `karpenter plan -o json`. */
import type { ConditionName } from "./acceptance.ts";
import type { ImprovementName, SourceName } from "./heuristics.ts";

/** A plan that was offered. */
export interface Considered {
  readonly source: SourceName;
  /** Absent: it is the plan of a source, not an improved one. */
  readonly improvement?: ImprovementName;
  /**
   * The price of the plan's new nodes. Absent: the source stopped early, because its plan already cost more than a
   * packing.
   */
  readonly microUsdPerHour?: number;
  /** Number of pods without a place. Absent if the price is absent. */
  readonly pending?: number;
  /** The condition that the plan failed. Absent: the plan was accepted, or its source stopped early. */
  readonly rejectedBy?: ConditionName;
}

export interface PlannerRecord {
  /** The source of the plan that was taken. */
  readonly source: SourceName;
  readonly improvements: readonly ImprovementName[];
  /** Set if pods that must share a host were placed before all others. */
  readonly hostGroupsFirst?: true;
  /** Every plan that was offered, in order. */
  readonly considered: readonly Considered[];
}
