/**
 * Choosing among an instance type's offerings: which could be launched under some requirements, and
 * at what price. Reserved offerings are left out until planning counts reservations: promising one
 * unit to two claims would strand the second. upstream: pkg/cloudprovider/types.go
 */
import { CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { allows } from "../scheduling/requirement.ts";
import type { Requirements } from "../scheduling/requirements.ts";
import type { CapacityType, InstanceType, Offering } from "./instance-type.ts";

/** Price of what cannot be launched: more than anything. */
export const NO_PRICE_MICRO_USD: number = Number.MAX_SAFE_INTEGER;

/** What launching may fall back on, in the order a cloud would try. */
const LAUNCH_ORDER: readonly CapacityType[] = ["spot", "on-demand"];

/** Whether a plan may count on it now. */
export function isUsable(offering: Offering): boolean {
  return offering.available && offering.capacityType !== "reserved";
}

/** Zone, capacity type and further labels of the offering, against what is required of them. */
export function isCompatible(offering: Offering, requirements: Requirements): boolean {
  const { zone, capacityType, labels = {} } = offering;
  if (!permits(requirements, TOPOLOGY_ZONE_LABEL_KEY, zone)) return false;
  if (!permits(requirements, CAPACITY_TYPE_LABEL_KEY, capacityType)) return false;
  for (const key in labels) if (!permits(requirements, key, labels[key] as string)) return false;
  return true;
}

export function usableOfferings(type: InstanceType, requirements: Requirements): Offering[] {
  return type.offerings.filter((one) => isUsable(one) && isCompatible(one, requirements));
}

/** The lowest price; ties by zone, then capacity type. `undefined` when nothing can be launched. */
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
 * The most that launching this type could cost: the cloud takes spot when it may, and then any
 * zone. `NO_PRICE_MICRO_USD` when nothing can be launched.
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

function permits(requirements: Requirements, key: string, value: string): boolean {
  return !requirements.has(key) || allows(requirements.get(key), value);
}

/** By price; ties by zone, then capacity type. */
export function isCheaper(a: Offering, b: Offering): boolean {
  if (a.priceMicroUsd !== b.priceMicroUsd) return a.priceMicroUsd < b.priceMicroUsd;
  if (a.zone !== b.zone) return a.zone < b.zone;
  return a.capacityType < b.capacityType;
}
