/**
 * Whether an instance has left its capacity reservation, because the reservation ended or was made smaller. One
 * description of the instance may be wrong. So it is described twice, and EC2 is asked for the reservation by its ID.
 * Pure. upstream believes the first description: pkg/controllers/capacityreservation/capacitytype
 */

import type { Instance } from "../api/instances.ts";
import type { CapacityReservation } from "../api/reservations.ts";
import type { ById } from "../selection/by-id.ts";

/** EC2's answers about an instance and the reservation that its claim names. */
export interface ReservationEvidence {
  /** The instance, as EC2 described it twice. */
  readonly first: Instance | undefined;
  readonly again: Instance | undefined;
  /** EC2's answer about the reservation, asked by its ID. */
  readonly reservation: ById<CapacityReservation>;
  /** Number of claims of this cluster that name the reservation. */
  readonly claims: number;
}

/** Whether both descriptions show the instance outside of any reservation. */
export function seemsOutside({
  first,
  again,
}: Pick<ReservationEvidence, "first" | "again">): boolean {
  return (
    first !== undefined &&
    again !== undefined &&
    first.CapacityReservationId === undefined &&
    again.CapacityReservationId === undefined &&
    first.InstanceType === again.InstanceType &&
    first.SubnetId === again.SubnetId
  );
}

/** Whether EC2 proves that the instance has left the reservation. */
export function hasLeft(evidence: ReservationEvidence): boolean {
  const { reservation, claims } = evidence;
  if (!seemsOutside(evidence) || reservation === undefined) return false;
  if (reservation === "unknown" || reservation.State !== "active") return true;
  const { TotalInstanceCount, AvailableInstanceCount } = reservation;
  // Fewer instances are in the reservation than claims name it, so one of the instances is outside.
  return TotalInstanceCount !== undefined && TotalInstanceCount - AvailableInstanceCount < claims;
}
