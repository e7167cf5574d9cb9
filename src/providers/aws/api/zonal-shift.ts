/** The calls of ARC: zones that traffic is shifted away from. */

export interface GetManagedResourceInput {
  /** The cluster's ARN. */
  readonly resourceIdentifier: string;
}

/** Whether traffic really keeps away: a shift may be overruled by another of the same resource. */
export type ShiftStatus = "APPLIED" | "NOT_APPLIED";

export interface ZonalShift {
  readonly appliedStatus: ShiftStatus;
  /** A zone id: `use1-az1`. */
  readonly awayFrom: string;
  readonly expiryTime: string;
}

/** AWS's own shift: lasts until AWS ends it. */
export interface ZonalAutoshift {
  readonly appliedStatus: ShiftStatus;
  readonly awayFrom: string;
}

export interface GetManagedResourceOutput {
  readonly zonalShifts: readonly ZonalShift[];
  readonly autoshifts: readonly ZonalAutoshift[];
}

/** The members are lower-case on the wire. */
export interface ZonalShiftApi {
  /** A cluster without zonal shift rejects with `ResourceNotFoundException`. */
  getManagedResource(input: GetManagedResourceInput): Promise<GetManagedResourceOutput>;
}
