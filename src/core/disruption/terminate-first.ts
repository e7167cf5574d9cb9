/**
 * Nodes that are removed before they are replaced: the place of the old node is the only place for the new one. Either
 * `limits.nodes` of a static pool leaves no room, or every slot of the capacity reservations is taken.
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

/** Why a node goes first; a label of the metric. */
export type TerminateFirstReason = "static-at-limit" | "no-reserved-capacity";

/**
 * Methods whose nodes may be terminated before their replacements exist, by the gates TerminateFirstDrift and
 * TerminateFirstRepair.
 */
export interface TerminateFirst {
  readonly drift: boolean;
  readonly repair: boolean;
}

/** Both gates are shut. */
export const NEVER_FIRST: TerminateFirst = { drift: false, repair: false };

/** The sentences of upstream for nodes that must stay. */
export const AT_LIMIT = "static NodePool is at its node limit and cannot stage a replacement";
export const RESERVATIONS_FULL =
  "static NodePool's capacity reservations are full and cannot stage a replacement";

/**
 * Whether all pods of a reserved node have a place if the slot of the node itself counts as free. So its replacement
 * can take that slot once the node is gone.
 */
export function fitsIntoOwnSlot(candidate: Candidate, simulator: Simulator): boolean {
  const id = reservationIdOf(candidate.node.labels);
  if (id === undefined) return false;
  const { input } = simulator;
  const pools = input.pools.map((one) => ({
    ...one,
    instanceTypes: withSlotOf(id, one.instanceTypes),
  }));
  // Strict: a pod that may use the slot gets no other new node.
  const options = { ...input.options, reservedCapacity: "strict" as const };
  const credited = createSimulator({ ...input, pools, options });
  return credited.without([candidate]).unplaced.length === 0;
}

/** The same types, with one more slot of the reservation. */
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
 * The offering with one more slot, as after the node is gone. An offering without slots is unavailable only because of
 * that.
 */
function withOneSlot(offering: Offering): Offering {
  const slots = offering.reservationCapacity ?? 0;
  return {
    ...offering,
    available: offering.available || slots === 0,
    reservationCapacity: slots + 1,
  };
}

/** What a static pool may launch, as far as reservations decide. */
export interface ReservedOnly {
  /** Everything that it may launch is reserved, and no slot is free. */
  readonly isFull: boolean;
  /** Ids of the reservations that it is still offered. */
  readonly ids: ReadonlySet<string>;
}

/**
 * The reservations that the pool may use, and whether it may launch nothing but them and all are full. Upstream also
 * calls them full if the pool has no offering at all.
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

/** Whether the node of a static pool with full reservations holds a slot that its replacement may take. */
export function holdsSlot({ node }: Candidate, { ids }: ReservedOnly): boolean {
  const id = reservationIdOf(node.labels);
  return id !== undefined && ids.has(id);
}
