/**
 * Nodes that are removed before they are replaced, because the new node needs the place of the old one. Either
 * `limits.nodes` of a static pool leaves no room, or all slots of the capacity reservations are used.
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

/**
 * Which methods may terminate nodes before their replacements exist. Set by the feature gates TerminateFirstDrift and
 * TerminateFirstRepair.
 */
export interface TerminateFirst {
  readonly drift: boolean;
  readonly repair: boolean;
}

/** Upstream's sentences for nodes that cannot be replaced now. */
export const AT_LIMIT = "static NodePool is at its node limit and cannot stage a replacement";
export const RESERVATIONS_FULL =
  "static NodePool's capacity reservations are full and cannot stage a replacement";

/**
 * Whether all pods of a node in a reservation have a place if the node's own slot counts as free. If so, its
 * replacement can take this slot once the node is gone.
 */
export function fitsIntoOwnSlot(candidate: Candidate, simulator: Simulator): boolean {
  const id = reservationIdOf(candidate.node.labels);
  if (id === undefined) return false;
  const { input } = simulator;
  const pools = input.pools.map((one) => ({
    ...one,
    instanceTypes: withSlotOf(id, one.instanceTypes),
  }));
  // With `strict`, a pod that can use the slot gets no other new node.
  const options = { ...input.options, reservedCapacity: "strict" as const };
  const credited = createSimulator({ ...input, pools, options });
  return credited.without([candidate]).unplaced.length === 0;
}

/** The same instance types, but the reservation has one more free slot. */
function withSlotOf(id: string, instanceTypes: readonly InstanceType[]): readonly InstanceType[] {
  const isOf = (offering: Offering) => reservationOf(offering)?.id === id;
  return instanceTypes.map((type) =>
    type.offerings.some(isOf)
      ? {
          ...type,
          offerings: type.offerings.map((one) => (isOf(one) ? withOneSlot(one) : one)),
        }
      : type,
  );
}

/**
 * The offering with one more free slot, as after the removal of the node. If the offering has no free slot, this is
 * assumed to be the only reason why it is unavailable.
 */
function withOneSlot(offering: Offering): Offering {
  const slots = offering.reservationCapacity ?? 0;
  return {
    ...offering,
    available: offering.available || slots === 0,
    reservationCapacity: slots + 1,
  };
}

/** Whether a static pool depends on reservations. */
export interface ReservedOnly {
  /** Whether the pool may launch only reserved capacity, and no slot is free. */
  readonly isFull: boolean;
  /** Ids of the reservations that the pool may use. */
  readonly ids: ReadonlySet<string>;
}

/**
 * The reservations that the pool may use, and whether it depends on them and all are full. Upstream also calls them
 * full if the pool has no offering at all.
 */
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

/** Whether the node has a slot of these reservations, so that its replacement may take it. */
export function holdsSlot({ node }: Candidate, { ids }: ReservedOnly): boolean {
  const id = reservationIdOf(node.labels);
  return id !== undefined && ids.has(id);
}
