/** Who planned a batch, and why no other plan was taken: `planner` in `karpenter plan -o json`. */
import type { ConditionName } from "./acceptance.ts";

/** The ways to make a plan, with what each does. In the order in which they are asked. */
export const SOURCES = {
  greedy:
    "Upstream's rules, with this project's own choices of domains: the largest pod first, each on the first node that takes it.",
  packing:
    "The batch as a packing problem: patterns of pods for instance types by price, carried out pod by pod on the rules.",
  upstreamGreedy: "Upstream's rules to the letter.",
  cheapestNode:
    "Each pod goes to the planned node whose price rises least, or to a new node where that is cheaper.",
  cheapestNodeWithoutZone: "The same, with one of the zones that it used closed.",
} as const;

export type SourceName = keyof typeof SOURCES;

/** The ways to improve the best plan, in the order in which they are asked. */
export const IMPROVEMENTS = {
  openZones:
    "Nodes whose pods accept any zone are opened to all zones again after a zone was closed.",
  dropNode: "One node is dropped, and its pods go to the other nodes.",
  moveNode: "One node keeps its pods and moves to another zone or capacity type.",
} as const;

export type ImprovementName = keyof typeof IMPROVEMENTS;

/** A plan that was offered. */
export interface Considered {
  readonly source: SourceName;
  /** Absent: it is the plan of a source, not an improved one. */
  readonly improvement?: ImprovementName;
  /** The price of its new nodes; absent: the source stopped, for its plan cost more than a packing long before its end. */
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
