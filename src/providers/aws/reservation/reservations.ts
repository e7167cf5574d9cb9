/**
 * The capacity reservations of a class, and how many more instances each can take. EC2's counts are read once a minute.
 * Launches and terminations in between are counted here, so that no plan promises a place twice.
 * upstream: pkg/providers/capacityreservation
 */
import type { CapacityReservationSelectorTerm } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { type Clock, fromRfc3339 } from "../../../base/clock.ts";
import { canonicalJson } from "../../../base/json.ts";
import type { Logger } from "../../../base/log.ts";
import { allPages, type Filter } from "../api/call.ts";
import type { Ec2Api } from "../api/ec2.ts";
import type { CapacityReservation } from "../api/reservations.ts";
import { TtlCache } from "../cache/ttl-cache.ts";
import { isNotFound } from "../errors.ts";
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
  readonly #ec2: Ec2Api;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #cache: TtlCache<readonly CapacityReservation[]>;
  /** How many more instances each reservation can take, by id. */
  readonly #available = new Map<string, number>();
  /** Provider ids of ended instances that freed their place, and when each is forgotten. */
  readonly #endedUntilMs = new Map<string, number>();
  #version = 0;

  constructor(deps: { ec2: Ec2Api; clock: Clock; log: Logger }) {
    this.#ec2 = deps.ec2;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#cache = new TtlCache(deps.clock, REFRESH_MS);
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
  async list(nodeClass: Pick<AwsClass, "reservationTerms">): Promise<readonly Reservation[]> {
    const terms = nodeClass.reservationTerms;
    if (terms.length === 0) return [];
    const found = await this.#cache.get(canonicalJson(terms), () => this.#read(terms));
    const nowMs = this.#clock.now();
    return found.flatMap((one) => this.#toReservation(one, nowMs));
  }

  async #read(
    terms: readonly CapacityReservationSelectorTerm[],
  ): Promise<readonly CapacityReservation[]> {
    const answers = await Promise.all(terms.map((term) => this.#ofTerm(term)));
    const byId = new Map<string, CapacityReservation>();
    for (const one of answers.flat()) {
      byId.set(one.CapacityReservationId, one);
      this.#set(one.CapacityReservationId, one.AvailableInstanceCount);
    }
    return [...byId.values()].sort((a, b) =>
      a.CapacityReservationId < b.CapacityReservationId ? -1 : 1,
    );
  }

  async #ofTerm(term: CapacityReservationSelectorTerm): Promise<readonly CapacityReservation[]> {
    const { id, ownerID, instanceMatchCriteria, availabilityZone, tags } = term;
    const active: Filter = { Name: "state", Values: ["active"] };
    const Filters = [
      active,
      ...(ownerID === undefined ? [] : [{ Name: "owner-id", Values: [ownerID] }]),
      ...(instanceMatchCriteria === undefined
        ? []
        : [{ Name: "instance-match-criteria", Values: [instanceMatchCriteria] }]),
      ...(availabilityZone === undefined
        ? []
        : [{ Name: "availability-zone", Values: [availabilityZone] }]),
      ...tagFilters(tags),
    ];
    const input =
      id === undefined
        ? { Filters, MaxResults: PAGE }
        : { CapacityReservationIds: [id], Filters: [active] };
    try {
      const pages = await allPages((token) =>
        this.#ec2.describeCapacityReservations({ ...input, ...token }),
      );
      return pages.flatMap((page) => page.CapacityReservations);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
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
    const expiring =
      type === "capacity-block" && endMs !== undefined && endMs - nowMs <= EXPIRING_MS;
    return [
      {
        id: one.CapacityReservationId,
        instanceType: one.InstanceType,
        zone: one.AvailabilityZone,
        ownerId: one.OwnerId ?? "",
        matchCriteria,
        type,
        interruptible: one.Interruptible ?? false,
        state: expiring ? "expiring" : "active",
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
