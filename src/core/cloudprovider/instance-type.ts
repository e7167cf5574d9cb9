/** What a cloud can launch: instance types and, per zone and capacity type, their offerings. */
import type { Resources } from "../../apis/resources.ts";
import type { DynamicResources } from "./dynamic-resources.ts";

/** How capacity is bought; the values of the label. */
export type CapacityType = "on-demand" | "spot" | "reserved";

/** One way to buy an instance type. Prices are integer micro-dollars per hour. */
export interface Offering {
  readonly zone: string;
  readonly capacityType: CapacityType;
  readonly priceMicroUsd: number;
  /** False while the cloud is known to be out of it (capacity errors, interruptions). */
  readonly available: boolean;
  /** Why it is not available, in words for people, where more is known than that the cloud is out of it. */
  readonly unavailableBecause?: string;
  /** The cloud tells no price, and that alone keeps it from being available: a NodeOverlay may set one. */
  readonly isUnpriced?: true;
  /** Further labels that only this offering brings (zone id, reservation id). */
  readonly labels?: Readonly<Record<string, string>>;
  readonly reservationCapacity?: number;
  /** The quota of the account that counts such a machine, and the units that it takes. Absent: none. */
  readonly quota?: { readonly id: string; readonly units: number };
  /** What a machine bought this way has instead of the type's own capacity, by resource. */
  readonly capacityOverride?: Resources;
  /** The same for the type's overhead. */
  readonly overheadOverride?: Resources;
  /** The price is a NodeOverlay's. */
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
   * What it gives all the time, of resources of which that is less than its capacity: the cpu of a burstable
   * type, beyond which it lives on credits. Absent: all of its capacity.
   */
  readonly baseline?: Resources;
  /** Part of the capacity is a NodeOverlay's. */
  readonly isCapacityOverlaid?: true;
  /**
   * CSI driver → volumes that pods on its nodes can attach. Absent drivers: not known. CSINodes of running nodes of the
   * type count before. upstream: pkg/cloudprovider/types.go
   */
  readonly volumeAttachmentLimits?: Readonly<Record<string, number>>;
  /** Devices that pods can claim on its nodes. Absent: none. */
  readonly dynamicResources?: DynamicResources;
}
