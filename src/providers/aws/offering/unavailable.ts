/**
 * Offerings that recently had no capacity. A mark ends after three minutes. `version` changes when a mark is added and
 * when one ends, so that cached instance types are made again.
 * upstream: pkg/cache/unavailableofferings.go
 */
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import type { CapacityType } from "../../../core/cloudprovider/instance-type.ts";

const UNAVAILABLE_MS = 180_000;

/** An offering, everywhere or only within a placement group. */
export interface OfferingKey {
  readonly capacityType: CapacityType;
  readonly instanceType: string;
  readonly zone: string;
  /** The capacity reservation to which a mark is limited. Other reservations of the type and zone may have capacity. */
  readonly reservation?: string;
  /** The placement group to which a mark is limited. Other groups may have capacity. */
  readonly group?: GroupScope;
}

/** A placement group, or one partition of it. */
export interface GroupScope {
  readonly id: string;
  /** The partition of the group. Absent: the whole group. */
  readonly partition?: number;
}

/** Offerings without capacity, each for three minutes. upstream: pkg/cache/unavailableofferings.go. */
export class UnavailableOfferings {
  readonly #clock: Clock;
  readonly #log: Logger;
  /** End of each mark, by its key. */
  readonly #until = new Map<string, number>();
  #nextEndMs = Number.POSITIVE_INFINITY;
  #version = 0;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The version now. Removes marks that have ended. */
  get version(): number {
    this.#sweep();
    return this.#version;
  }

  /**
   * Whether the offering is marked. A mark without a group applies to every group, and a mark of a group to each of
   * its partitions.
   */
  has({ group, ...key }: OfferingKey): boolean {
    this.#sweep();
    if (this.#until.size === 0) return false;
    if (this.#until.has(key.capacityType) || this.#until.has(textOf(key))) return true;
    if (group === undefined) return false;
    const { id, partition } = group;
    return (
      this.#until.has(textOf({ ...key, group: { id } })) ||
      (partition !== undefined && this.#until.has(textOf({ ...key, group })))
    );
  }

  mark(reason: string, key: OfferingKey): void {
    const { capacityType, instanceType, zone, reservation, group } = key;
    this.#log.debug("removing offering from offerings", {
      reason,
      "instance-type": instanceType,
      zone,
      "capacity-type": capacityType,
      ...(reservation === undefined ? {} : { "capacity-reservation-id": reservation }),
      ...(group === undefined ? {} : { "placement-group": group.id }),
      ttl: "3m0s",
    });
    this.#set(textOf(key));
  }

  /** Removes the mark of an offering that has capacity after all. */
  unmark(key: OfferingKey): void {
    if (this.#until.delete(textOf(key))) this.#version++;
  }

  /** Marks every offering of this capacity type, such as spot without its role. */
  markCapacityType(capacityType: CapacityType): void {
    this.#set(capacityType);
  }

  #set(key: string): void {
    const endMs = this.#clock.elapsedMs() + UNAVAILABLE_MS;
    if (!this.#until.has(key)) this.#version++;
    this.#until.set(key, endMs);
    this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
  }

  #sweep(): void {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const [key, endMs] of this.#until) {
      if (endMs > nowMs) this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
      else {
        this.#until.delete(key);
        this.#version++;
      }
    }
  }
}

function textOf({ capacityType, instanceType, zone, reservation, group }: OfferingKey): string {
  const parts = [capacityType, instanceType, zone, reservation, group?.id, group?.partition];
  return parts.filter((part) => part !== undefined).join(":");
}
