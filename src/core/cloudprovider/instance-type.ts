/** Instance types that a cloud can launch, each with its offerings for zones and capacity types. */
import type { Resources } from "../../apis/resources.ts";
import type { DynamicResources } from "./dynamic-resources.ts";

/** How capacity is bought. These are the values of the capacity type label. */
export type CapacityType = "on-demand" | "spot" | "reserved";

/** One way to buy an instance type. Prices are integer micro-dollars per hour. */
export interface Offering {
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly priceMicroUsd: number;
  /** Whether the cloud has capacity for this offering, as known from capacity errors and interruptions. */
  readonly available: boolean;
  /** Why the offering is not available, in words for users. Absent: the cloud has no capacity for it. */
  readonly unavailableBecause?: string;
  /** Whether the offering is unavailable only because the cloud reports no price. A NodeOverlay may set a price. */
  readonly isUnpriced?: true;
  /** More labels that only this offering defines (zone id, reservation id). */
  readonly labels?: Readonly<Record<string, string>>;
  readonly reservationCapacity?: number;
  /** The account quota that counts instances of this offering, and how many units one instance uses. Absent: none. */
  readonly quota?: { readonly id: string; readonly units: number };
  /** Resources of an instance from this offering that differ from the type's capacity. */
  readonly capacityOverride?: Resources;
  /** Overhead of an instance from this offering that differs from the type's overhead. */
  readonly overheadOverride?: Resources;
  /** Whether a NodeOverlay has set the price. */
  readonly isPriceOverlaid?: true;
}

/** One size of instance, with its offerings. */
export interface InstanceType {
  readonly name: string;
  /**
   * For each label key: the values that nodes of this type can have. An empty list means "never has this label"
   * (DoesNotExist); a missing key says nothing. Includes arch, os, instance-type, and the zones and capacity types of
   * the offerings.
   */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly capacity: Resources;
  /** kube-reserved + system-reserved + eviction threshold. Allocatable is capacity - overhead. */
  readonly overhead: Resources;
  /** All offerings, including unavailable ones, sorted by zone, then by capacity type. */
  readonly offerings: readonly Offering[];
  /**
   * The amounts that a node can use all the time, for resources of which that is less than the capacity. Example: the
   * cpu of a burstable type without credits. Absent: there are none.
   */
  readonly baseline?: Resources;
  /** Whether a NodeOverlay has set part of the capacity. */
  readonly isCapacityOverlaid?: true;
  /**
   * For each CSI driver: how many volumes pods can attach on a node of this type. A driver that is absent: not known.
   * If nodes of the type already run, their CSINodes count instead.
   * upstream: pkg/cloudprovider/types.go
   */
  readonly volumeAttachmentLimits?: Readonly<Record<string, number>>;
  /** Devices that pods can claim on nodes of this type. Absent: none. */
  readonly dynamicResources?: DynamicResources;
}
