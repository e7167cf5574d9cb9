/** The result of checking a pod on a planned node. */
import type { DeviceFit } from "../../devices/fit-new.ts";
import type { Bits } from "../../scheduling/bits.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import type { FitVerdict } from "../feasibility/node-refusal.ts";
import type { Topology } from "../topology/topology.ts";
import type { DeviceAccess } from "./device-access.ts";
import type { Reservations } from "./reservations.ts";

/** The state of the planned node if it takes the pod. */
export interface Fit {
  readonly set: SetId;
  readonly types: Bits;
  readonly minValuesRelaxed: boolean;
  readonly reserved: readonly string[];
  /** The devices that the pod gets. Absent: the pod claims no devices. */
  readonly devices?: DeviceFit;
}

export interface Trial {
  readonly verdict: FitVerdict;
  readonly fit?: Fit;
  /** Whether every planned node with the same requirements refuses the pod too, until topology counts change. */
  readonly noneLikeIt?: true;
  /** Upstream's message, if the pod is refused because of reservations. Absent: another reason, or no refusal. */
  readonly deferred?: string;
}

export interface PlanningContext {
  readonly space: RequirementSpace;
  readonly topology: Topology;
  readonly minValuesPolicy: "Strict" | "BestEffort";
  readonly volumes: VolumeIndex;
  readonly reservations: Reservations;
  /** Whether limits are charged as in upstream: a planned node counts as its largest possible type. */
  readonly chargesMost: boolean;
  /** Whether a pod waits for a reservation instead of using other capacity. */
  readonly strictReservations: boolean;
  /** The devices of nodes and pools. Undefined: Dynamic Resource Allocation is ignored. */
  readonly devices: DeviceAccess | undefined;
  /** Why there is no pool. Undefined: there is one, or the reason is not known. */
  readonly withoutPools: string | undefined;
}
