/** The answer of a planned node that is checked for a pod. */
import type { DeviceFit } from "../../devices/fit-new.ts";
import type { Bits } from "../../scheduling/bits.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import type { Verdict } from "../feasibility/node-refusal.ts";
import type { Topology } from "../topology/topology.ts";
import type { DeviceAccess } from "./device-access.ts";
import type { Reservations } from "./reservations.ts";

/** The planned node with the pod on it. */
export interface Fit {
  readonly set: SetId;
  readonly types: Bits;
  readonly minValuesRelaxed: boolean;
  /** Reservations to hold. */
  readonly reserved: readonly string[];
  /** Absent: the pod claims no devices. */
  readonly devices?: DeviceFit;
}

export interface Trial {
  readonly verdict: Verdict;
  readonly fit?: Fit;
  /** The refusal holds for every planned node with the same requirements, until counts change. */
  readonly noneLikeIt?: true;
  /** Other planned nodes hold the reservations that would fit. The text is upstream's. */
  readonly deferred?: string;
}

export interface PlanningContext {
  readonly space: RequirementSpace;
  readonly topology: Topology;
  readonly minValuesPolicy: "Strict" | "BestEffort";
  readonly volumes: VolumeIndex;
  readonly reservations: Reservations;
  /** Charge limits as upstream does: a planned node counts as the largest type that it may become. */
  readonly chargesMost: boolean;
  /** Wait for reservations instead of using other capacity. */
  readonly strictReservations: boolean;
  /** Undefined: Dynamic Resource Allocation is ignored. */
  readonly devices: DeviceAccess | undefined;
  /** Why there is no pool; undefined: there is one, or nobody has said why. */
  readonly withoutPools: string | undefined;
}
