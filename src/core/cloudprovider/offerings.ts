/**
 * Chooses among an instance type's offerings: which of them can be launched under some requirements, and at what price.
 * Reserved offerings are prepaid and limited in number; planning counts them in provisioning/nodes/reservations.ts.
 * upstream: pkg/cloudprovider/types.go
 */
import { CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { allows, allowsAbsence } from "../scheduling/requirement.ts";
import type { Requirements } from "../scheduling/requirements.ts";
import type { CapacityType, InstanceType, Offering } from "./instance-type.ts";

/** The price of an instance that cannot be launched: higher than every real price. */
export const NO_PRICE_MICRO_USD: number = Number.MAX_SAFE_INTEGER;

/** Capacity types in the order in which a cloud tries them when it launches a claim. */
const LAUNCH_ORDER: readonly CapacityType[] = ["reserved", "spot", "on-demand"];

/**
 * The end of the label key that names a reservation. The beginning differs by cloud:
 * `karpenter.k8s.aws/capacity-reservation-id`.
 */
const RESERVATION_ID = "reservation-id";

/** Whether a plan may use the offering: it is available, and if it is a reservation, it has free capacity. */
export function isUsable(offering: Offering): boolean {
  if (!offering.available) return false;
  if (offering.capacityType !== "reserved") return true;
  return (offering.reservationCapacity ?? 0) > 0 && reservationOf(offering) !== undefined;
}

/** The label that names the offering's reservation, and the id. Undefined: the offering is not reserved. */
export function reservationOf({
  capacityType,
  labels = {},
}: Offering): { readonly key: string; readonly id: string } | undefined {
  if (capacityType !== "reserved") return undefined;
  const key = Object.keys(labels).find((one) => one.endsWith(RESERVATION_ID));
  return key === undefined ? undefined : { key, id: labels[key] as string };
}

/** The id of the reservation into which a node with these labels was launched. Undefined: none. */
export function reservationIdOf(labels: Readonly<Record<string, string>>): string | undefined {
  if (labels[CAPACITY_TYPE_LABEL_KEY] !== "reserved") return undefined;
  const key = Object.keys(labels).find((one) => one.endsWith(RESERVATION_ID));
  return key === undefined ? undefined : labels[key];
}

/** Whether the offering's zone, capacity type and other labels satisfy the requirements. */
export function isCompatible(offering: Offering, requirements: Requirements): boolean {
  const { zone, capacityType, labels = {} } = offering;
  if (!permits(requirements, TOPOLOGY_ZONE_LABEL_KEY, zone)) return false;
  if (!permits(requirements, CAPACITY_TYPE_LABEL_KEY, capacityType)) return false;
  if (capacityType !== "reserved" && asksForReservation(requirements)) return false;
  for (const key in labels) if (!permits(requirements, key, labels[key] as string)) return false;
  return true;
}

/** The usable offerings of the type that satisfy the requirements. */
export function usableOfferings(type: InstanceType, requirements: Requirements): Offering[] {
  return type.offerings.filter((one) => isUsable(one) && isCompatible(one, requirements));
}

/**
 * The usable offering with the lowest price; equal prices by zone, then capacity type. Undefined: none can be launched.
 */
export function cheapestOffering(
  type: InstanceType,
  requirements: Requirements,
): Offering | undefined {
  let best: Offering | undefined;
  for (const offering of usableOfferings(type, requirements)) {
    if (best === undefined || isCheaper(offering, best)) best = offering;
  }
  return best;
}

/**
 * The highest price that a launch of this type could cost. The cloud takes the first possible capacity type (reserved,
 * spot, on-demand), and may choose any zone. `NO_PRICE_MICRO_USD`: nothing can be launched.
 */
export function worstLaunchPriceMicroUsd(type: InstanceType, requirements: Requirements): number {
  const usable = usableOfferings(type, requirements);
  for (const capacityType of LAUNCH_ORDER) {
    const prices = usable
      .filter((offering) => offering.capacityType === capacityType)
      .map((offering) => offering.priceMicroUsd);
    if (prices.length > 0) return Math.max(...prices);
  }
  return NO_PRICE_MICRO_USD;
}

function asksForReservation(requirements: Requirements): boolean {
  for (const one of requirements.all()) {
    if (one.key.endsWith(RESERVATION_ID) && !allowsAbsence(one)) return true;
  }
  return false;
}

function permits(requirements: Requirements, key: string, value: string): boolean {
  return !requirements.has(key) || allows(requirements.get(key), value);
}

/**
 * Whether `a` is cheaper than `b`. At equal prices, the lower zone name counts as cheaper, then the lower capacity
 * type.
 */
export function isCheaper(a: Offering, b: Offering): boolean {
  if (a.priceMicroUsd !== b.priceMicroUsd) return a.priceMicroUsd < b.priceMicroUsd;
  if (a.zone !== b.zone) return a.zone < b.zone;
  return a.capacityType < b.capacityType;
}
