/** Who planned a batch, and why no other plan was taken: `planner` in `karpenter plan -o json`. */
import type { ConditionName } from "./acceptance.ts";
import type { ImprovementName, SourceName } from "./heuristics.ts";

/** A plan that was offered. */
export interface Considered {
  readonly source: SourceName;
  /** Absent: it is the plan of a source, not an improved one. */
  readonly improvement?: ImprovementName;
  /**
   * The price of its new nodes; absent: the source stopped, for its plan cost more than a packing long before its
   * end.
   */
  readonly microUsdPerHour?: number;
  /** Pods without a place; absent where the price is. */
  readonly pending?: number;
  /** The condition that it failed; absent: it was accepted, or it stopped. */
  readonly rejectedBy?: ConditionName;
}

export interface PlannerRecord {
  /** The source of the plan that was taken. */
  readonly source: SourceName;
  readonly improvements: readonly ImprovementName[];
  /** Present: pods that must share a host were placed ahead of all others. */
  readonly hostGroupsFirst?: true;
  /** Every plan that was offered, in order. */
  readonly considered: readonly Considered[];
}
