/** What is asked of a planned node about a pod, and what it answers. */
import type { Bits } from "../../scheduling/bits.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import type { Topology } from "../topology/topology.ts";
import type { Verdict } from "./existing-node.ts";
import type { Reservations } from "./reservations.ts";

/** A way the planned node could be once the pod is on it. */
export interface Fit {
  readonly set: SetId;
  readonly types: Bits;
  readonly minValuesRelaxed: boolean;
  /** Reservations to hold. */
  readonly reserved: readonly string[];
}

export interface Trial {
  readonly verdict: Verdict;
  readonly fit?: Fit;
  /** What refuses the pod holds for every planned node of the same set, until counts change. */
  readonly noneLikeIt?: true;
  /** Reservations that would do are promised to others: upstream's sentence for that. */
  readonly deferred?: string;
}

export interface PlanningContext {
  readonly space: RequirementSpace;
  readonly topology: Topology;
  readonly minValuesPolicy: "Strict" | "BestEffort";
  readonly volumes: VolumeIndex;
  readonly reservations: Reservations;
  /** Upstream: a planned node takes of limits what the largest type it may become has. */
  readonly chargesMost: boolean;
  /** Wait for reservations rather than buy. */
  readonly strictReservations: boolean;
}
