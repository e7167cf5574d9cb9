/** The calls of ARC: zones that traffic is shifted away from. */

/**
 * The cluster to ask about. The call rejects with ResourceNotFoundException if the cluster is not registered with ARC.
 */
export interface GetManagedResourceInput {
  /** The cluster's ARN. */
  readonly resourceIdentifier: string;
}

/** Whether the shift is in effect: another shift of the same resource may override it. */
export type ShiftStatus = "APPLIED" | "NOT_APPLIED";

/** A shift that a person started. Times are RFC 3339. */
export interface ZonalShift {
  readonly appliedStatus: ShiftStatus;
  /** The id of the zone that traffic is shifted away from, such as `use1-az1`. */
  readonly awayFrom: string;
  readonly expiryTime: string;
}

/** AWS's own shift: lasts until AWS ends it. */
export interface ZonalAutoshift {
  readonly appliedStatus: ShiftStatus;
  readonly awayFrom: string;
}

/** Shifts and autoshifts of the cluster. */
export interface GetManagedResourceOutput {
  readonly zonalShifts: readonly ZonalShift[];
  readonly autoshifts: readonly ZonalAutoshift[];
}

/** The ARC calls that are used. Their members are lower-case on the wire. */
export interface ZonalShiftApi {
  /** A cluster without zonal shift rejects with `ResourceNotFoundException`. */
  getManagedResource(input: GetManagedResourceInput): Promise<GetManagedResourceOutput>;
}
