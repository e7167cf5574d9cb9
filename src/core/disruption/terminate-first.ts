/**
 * Nodes that are removed before they are replaced, because there is no room for both: `limits.nodes` of a static pool
 * or the capacity reservations are used up.
 * upstream: pkg/controllers/disruption/helpers.go, staticdrift.go
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import {
  isCompatible,
  isUsable,
  reservationIdOf,
  reservationOf,
} from "../cloudprovider/offerings.ts";
import { allows } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { Candidate } from "./candidates.ts";
import { createSimulator, type Simulator } from "./simulate.ts";

/** Why a node is removed before it is replaced. The metric uses it as a label. */
export type TerminateFirstReason = "static-at-limit" | "no-reserved-capacity";

/** Which methods may remove a node first, by the feature gates TerminateFirstDrift and TerminateFirstRepair. */
export interface TerminateFirst {
  readonly drift: boolean;
  readonly repair: boolean;
}

/** Upstream's sentences for nodes that cannot be replaced now. */
export const AT_LIMIT = "static NodePool is at its node limit and cannot stage a replacement";
export const RESERVATIONS_FULL =
  "static NodePool's capacity reservations are full and cannot stage a replacement";

/** Whether all pods of a node have a place once the node is gone and its unit of a reservation is free. */
export function fitsIntoOwnUnit(candidate: Candidate, simulator: Simulator): boolean {
  const id = reservationIdOf(candidate.node.labels);
  if (id === undefined) return false;
  const { input } = simulator;
  const pools = input.pools.map((one) => ({
    ...one,
    instanceTypes: withUnitOf(id, one.instanceTypes),
  }));
  // With `strict`, a pod that can use the unit gets no other new node.
  const options = { ...input.options, reservedCapacity: "strict" as const };
  const credited = createSimulator({ ...input, pools, options });
  return credited.without([candidate]).unplaced.length === 0;
}

/** The same instance types, but the reservation has one more free unit. */
function withUnitOf(id: string, instanceTypes: readonly InstanceType[]): readonly InstanceType[] {
  const isOf = (offering: Offering) => reservationOf(offering)?.id === id;
  return instanceTypes.map((type) =>
    type.offerings.some(isOf)
      ? {
          ...type,
          offerings: type.offerings.map((one) => (isOf(one) ? withOneUnit(one) : one)),
        }
      : type,
  );
}

/**
 * The offering with one more free unit. An offering without a free unit is assumed to be unavailable only because of
 * that.
 */
function withOneUnit(offering: Offering): Offering {
  const units = offering.reservationCapacity ?? 0;
  return {
    ...offering,
    available: offering.available || units === 0,
    reservationCapacity: units + 1,
  };
}

/** The reservations of a pool, and whether it depends on them. */
export interface ReservedOnly {
  /** Whether the pool may launch only reserved capacity, and no unit is free. */
  readonly isFull: boolean;
  /** Ids of the reservations that the pool may use. */
  readonly ids: ReadonlySet<string>;
}

/** Finds the reservations that the pool may use. A pool without any offering is not full; upstream calls it full. */
export function reservedOnly(pool: Pool, instanceTypes: readonly InstanceType[]): ReservedOnly {
  const wanted = Requirements.fromSpecs(pool.requirements);
  const offerings = instanceTypes
    .filter(({ labels }) =>
      Object.entries(labels).every(
        ([key, values]) =>
          values.length === 0 || values.some((value) => allows(wanted.get(key), value)),
      ),
    )
    .flatMap((type) => type.offerings.filter((one) => isCompatible(one, wanted)));
  const isFull =
    offerings.length > 0 &&
    offerings.every((one) => one.capacityType === "reserved" && !isUsable(one));
  return { isFull, ids: new Set(offerings.flatMap((one) => reservationOf(one)?.id ?? [])) };
}

/** Whether the node uses a unit of these reservations, so that its replacement may use it. */
export function usesUnit({ node }: Candidate, { ids }: ReservedOnly): boolean {
  const id = reservationIdOf(node.labels);
  return id !== undefined && ids.has(id);
}
