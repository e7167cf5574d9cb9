/** EC2: capacity reservations and placement groups. */
import type { Filter, Page, Paged, Tag } from "./call.ts";

/** Prepaid instances of one type in one zone. */
export interface CapacityReservation {
  readonly CapacityReservationId: string;
  readonly OwnerId?: string;
  readonly InstanceType: string;
  readonly AvailabilityZone: string;
  readonly AvailabilityZoneId?: string;
  /** The state: `active`, `expired`, `cancelled`, … */
  readonly State: string;
  readonly TotalInstanceCount?: number;
  readonly AvailableInstanceCount: number;
  /** Which instances may use the reservation: `open` or `targeted`. */
  readonly InstanceMatchCriteria?: string;
  /** The kind of reservation: `default` or `capacity-block`. Absent means default. */
  readonly ReservationType?: string;
  readonly EndDate?: string;
  /** Whether EC2 may take back the capacity of the reservation, after a warning. */
  readonly Interruptible?: boolean;
  readonly Tags: readonly Tag[];
}

/** Which reservations to describe: by ids, or by filters with pages. */
export interface DescribeCapacityReservationsInput extends Paged {
  /**
   * Ids of reservations. An unknown id rejects with `InvalidCapacityReservationId.NotFound`. Ids cannot be combined
   * with `MaxResults`.
   */
  readonly CapacityReservationIds?: readonly string[];
  readonly Filters?: readonly Filter[];
}

/** A page of reservations, in no fixed order. */
export interface DescribeCapacityReservationsOutput extends Page {
  readonly CapacityReservations: readonly CapacityReservation[];
}

/** Where instances are placed relative to each other. */
export interface PlacementGroup {
  readonly GroupId: string;
  readonly GroupName: string;
  /** How instances are placed: `cluster`, `partition` or `spread`. */
  readonly Strategy: string;
  readonly State?: string;
  readonly PartitionCount?: number;
  readonly Tags: readonly Tag[];
}

/** Which placement groups to describe: by ids or names, or by filters. */
export interface DescribePlacementGroupsInput {
  /** Ids of groups. An unknown id or name rejects with `InvalidPlacementGroup.Unknown`. */
  readonly GroupIds?: readonly string[];
  readonly GroupNames?: readonly string[];
  readonly Filters?: readonly Filter[];
}

/** The placement groups. This call has no pages. */
export interface DescribePlacementGroupsOutput {
  readonly PlacementGroups: readonly PlacementGroup[];
}
