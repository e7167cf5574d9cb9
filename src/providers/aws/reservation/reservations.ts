/**
 * The capacity reservations of a class, and how many more instances each can take. EC2's counts are read once a minute.
 * Launches and terminations in between are counted here, so that no plan promises a place twice.
 * upstream: pkg/providers/capacityreservation
 */
import type { CapacityReservationSelectorTerm } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { type Clock, fromRfc3339 } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import { allPages, type Filter } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type {
  CapacityReservation,
  DescribeCapacityReservationsInput,
} from "../api/reservations.ts";
import { isNotFound } from "../errors.ts";
import type { ById } from "../selection/by-id.ts";
import {
  type ListedKind,
  type Proof,
  ProvenLists,
  type SelectorQuery,
} from "../selection/proven-lists.ts";
import { tagFilters } from "../subnet/filters.ts";

const REFRESH_MS = 60_000;
const PAGE = 1_000;
/** An ended instance is reported several times within this time, but frees its place only once. */
const ENDED_MS = 15 * 60_000;
/**
 * Milliseconds before its end from which on nothing is launched into a capacity block. EC2 takes it back 30 minutes
 * before its end.
 */
const EXPIRING_MS = 40 * 60_000;

/** A capacity reservation that matched a selector term. */
export interface Reservation {
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly ownerId: string;
  readonly matchCriteria: "open" | "targeted";
  readonly type: "default" | "capacity-block";
  readonly interruptible: boolean;
  /** The state. `expiring`: a capacity block within 40 minutes of its end. */
  readonly state: "active" | "expiring";
  /** The end of the reservation in RFC 3339. Undefined: it has no end. */
  readonly endTime: string | undefined;
}

/** Reservations with their free count: what EC2 says, minus launches since then. */
export class CapacityReservations {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #lists: ProvenLists<CapacityReservation>;
  /** How many more instances each reservation can take, by id. */
  readonly #available = new Map<string, number>();
  /** Provider ids of ended instances that freed their place, and when each is forgotten. */
  readonly #endedUntilMs = new Map<string, number>();
  #version = 0;

  constructor(deps: { ec2: Ec2Api; clock: Clock; log: Logger }) {
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#lists = new ProvenLists({ ...deps, refreshMs: REFRESH_MS, kind: this.#kind(deps.ec2) });
  }

  /** A number that changes when counts of reservations change. Caches have it in their keys. */
  get version(): number {
    return this.#version;
  }

  available(id: string): number {
    return this.#available.get(id) ?? 0;
  }

  /** The free counts of all reservations that any class has found. */
  counts(): ReadonlyMap<string, number> {
    return this.#available;
  }

  launchedInto(id: string): void {
    this.#set(id, Math.max(0, this.available(id) - 1));
  }

  /** Frees the place of an instance that ended. It counts once, however often this is called. */
  endedIn(id: string, providerId: string): void {
    const nowMs = this.#clock.elapsedMs();
    for (const [one, untilMs] of this.#endedUntilMs)
      if (untilMs <= nowMs) this.#endedUntilMs.delete(one);
    if (this.#endedUntilMs.has(providerId)) return;
    this.#endedUntilMs.set(providerId, nowMs + ENDED_MS);
    this.#set(id, this.available(id) + 1);
  }

  /** Sets the count to 0, because EC2 said so. EC2's own count is read again within a minute. */
  exhausted(id: string): void {
    this.#set(id, 0);
  }

  /** The reservations by id, without ended ones. Rejects if EC2 does not answer. */
  async list(nodeClass: ClassPart): Promise<readonly Reservation[]> {
    if (nodeClass.reservationTerms.length === 0) return [];
    const found = await this.#lists.list(queries(nodeClass), nodeClass.selectedBefore.reservations);
    const nowMs = this.#clock.now();
    return found.flatMap((one) => this.#toReservation(one, nowMs));
  }

  /** What EC2 proves about the reservations with these IDs and the class. */
  prove(
    nodeClass: ClassPart,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Proof<CapacityReservation>>> {
    return this.#lists.prove(queries(nodeClass), nodeClass.selectedBefore.reservations, ids);
  }

  /** What EC2 answers about the reservations with these IDs, whichever class selects them. */
  async byId(ids: readonly string[]): Promise<ReadonlyMap<string, ById<CapacityReservation>>> {
    const proofs = await this.#lists.prove([], [], ids);
    return new Map(
      [...proofs].map(([id, { verdict, one }]) => [id, verdict === "unknown" ? verdict : one]),
    );
  }

  /** Those of the capacity blocks that EC2, asked by ID, describes as within 40 minutes of their end. */
  async expiring(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const answers = await this.byId(ids);
    const nowMs = this.#clock.now();
    return new Set(
      ids.filter((id) => {
        const one = answers.get(id);
        return typeof one === "object" && isExpiring(one, nowMs);
      }),
    );
  }

  #kind(ec2: Ec2Api): ListedKind<CapacityReservation> {
    const read = async (input: DescribeCapacityReservationsInput) => {
      const pages = await allPages((token) =>
        ec2.describeCapacityReservations({ ...input, ...token }),
      );
      const found = pages.flatMap((page) => page.CapacityReservations);
      for (const one of found) this.#set(one.CapacityReservationId, one.AvailableInstanceCount);
      return found;
    };
    return {
      plural: "capacity reservations",
      idPrefix: "cr-",
      idFilter: undefined,
      staysUnanswered: true,
      idOf: ({ CapacityReservationId }) => CapacityReservationId,
      filterable: (one) => ({
        fields: {
          state: one.State,
          "owner-id": one.OwnerId,
          "instance-match-criteria": one.InstanceMatchCriteria,
          "availability-zone": one.AvailabilityZone,
        },
        tags: one.Tags,
      }),
      list: async ({ Filters, ids }) => {
        if (ids === undefined) return read({ Filters, MaxResults: PAGE });
        try {
          return await read({ CapacityReservationIds: ids, Filters });
        } catch (error) {
          if (isNotFound(error)) return [];
          throw error;
        }
      },
      byId: (CapacityReservationIds) => read({ CapacityReservationIds }),
    };
  }

  /**
   * The reservation in the form of this file, as a list. Empty: the reservation has ended, or has a state or type that
   * is not known here.
   */
  #toReservation(one: CapacityReservation, nowMs: number): readonly Reservation[] {
    const matchCriteria = one.InstanceMatchCriteria ?? "targeted";
    const type = one.ReservationType ?? "default";
    const endMs = fromRfc3339(one.EndDate);
    if (endMs !== undefined && endMs <= nowMs) return [];
    if (
      (matchCriteria !== "open" && matchCriteria !== "targeted") ||
      (type !== "default" && type !== "capacity-block")
    ) {
      this.#log.error("ignored a capacity reservation of an unknown kind", {
        id: one.CapacityReservationId,
        "instance-match-criteria": matchCriteria,
        "reservation-type": type,
      });
      return [];
    }
    return [
      {
        id: one.CapacityReservationId,
        instanceType: one.InstanceType,
        zone: one.AvailabilityZone,
        ownerId: one.OwnerId ?? "",
        matchCriteria,
        type,
        interruptible: one.Interruptible ?? false,
        state: isExpiring(one, nowMs) ? "expiring" : "active",
        endTime: one.EndDate,
      },
    ];
  }

  #set(id: string, count: number): void {
    if (this.#available.get(id) === count) return;
    this.#available.set(id, count);
    this.#version++;
  }
}

function isExpiring({ ReservationType, EndDate }: CapacityReservation, nowMs: number): boolean {
  const endMs = fromRfc3339(EndDate);
  return (
    ReservationType === "capacity-block" && endMs !== undefined && endMs - nowMs <= EXPIRING_MS
  );
}

type ClassPart = Pick<AwsClass, "reservationTerms" | "selectedBefore">;

function queries({ reservationTerms }: ClassPart): readonly SelectorQuery[] {
  return reservationTerms.map(queryOf);
}

/** A term with an ID asks for that reservation, whatever its other fields say. */
function queryOf(term: CapacityReservationSelectorTerm): SelectorQuery {
  const { id, ownerID, instanceMatchCriteria, availabilityZone, tags } = term;
  const active: Filter = { Name: "state", Values: ["active"] };
  if (id !== undefined) return { Filters: [active], ids: [id] };
  const filter = (Name: string, value: string | undefined): readonly Filter[] =>
    value === undefined ? [] : [{ Name, Values: [value] }];
  return {
    Filters: [
      active,
      ...filter("owner-id", ownerID),
      ...filter("instance-match-criteria", instanceMatchCriteria),
      ...filter("availability-zone", availabilityZone),
      ...tagFilters(tags),
    ],
  };
}
