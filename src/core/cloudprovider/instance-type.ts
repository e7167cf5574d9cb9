/** What a cloud can launch: instance types, and their offerings for each zone and capacity type. */
import type { Resources } from "../../apis/resources.ts";
import type { DynamicResources } from "./dynamic-resources.ts";

/** How capacity is bought; the values of the label. */
export type CapacityType = "on-demand" | "spot" | "reserved";

/** One way to buy an instance type. Prices are integer micro-dollars per hour. */
export interface Offering {
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly priceMicroUsd: number;
  /** False while the cloud has no capacity for it, as far as is known (capacity errors, interruptions). */
  readonly available: boolean;
  /** Why it is not available, in words for users. Absent: the cloud has no capacity for it. */
  readonly unavailableBecause?: string;
  /** It is unavailable only because the cloud reports no price. A NodeOverlay may set one. */
  readonly isUnpriced?: true;
  /** Further labels that only this offering defines (zone id, reservation id). */
  readonly labels?: Readonly<Record<string, string>>;
  readonly reservationCapacity?: number;
  /** The account quota that limits such instances, and the units that one takes. Absent: none. */
  readonly quota?: { readonly id: string; readonly units: number };
  /** Resources of an instance from this offering that differ from the type's capacity. */
  readonly capacityOverride?: Resources;
  /** Overhead of an instance from this offering that differs from the type's overhead. */
  readonly overheadOverride?: Resources;
  /** A NodeOverlay has set the price. */
  readonly isPriceOverlaid?: true;
}

/** One size of machine with its offerings. */
export interface InstanceType {
  readonly name: string;
  /**
   * Label key → values this type can have. An empty list means "never has this label"
   * (DoesNotExist); a missing key says nothing. Includes arch, os, instance-type, zones and
   * capacity types of the offerings.
   */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly capacity: Resources;
  /** kube-reserved + system-reserved + eviction threshold. Allocatable = capacity - overhead. */
  readonly overhead: Resources;
  /** All offerings, also unavailable ones; order: zone, then capacity type. */
  readonly offerings: readonly Offering[];
  /**
   * Sustained amounts of resources that are below the capacity: the cpu of a burstable type without credits. Absent:
   * all of its capacity is sustained.
   */
  readonly baseline?: Resources;
  /** A NodeOverlay has set part of the capacity. */
  readonly isCapacityOverlaid?: true;
  /**
   * CSI driver → volumes that pods on its nodes can attach. Absent drivers: not known. If nodes of the type already
   * run, their CSINodes count instead. upstream: pkg/cloudprovider/types.go
   */
  readonly volumeAttachmentLimits?: Readonly<Record<string, number>>;
  /** Devices that pods can claim on nodes of the type. Absent: none. */
  readonly dynamicResources?: DynamicResources;
}
