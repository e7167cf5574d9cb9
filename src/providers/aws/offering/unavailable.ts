/**
 * Offerings that the cloud was lately out of. A mark lasts three minutes; `version` moves whenever the
 * set does, also when a mark runs out, so that cached instance types are made anew.
 * upstream: pkg/cache/unavailableofferings.go
 */
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import type { CapacityType } from "../../../core/cloudprovider/instance-type.ts";

const UNAVAILABLE_MS = 180_000;

export interface OfferingKey {
  readonly capacityType: CapacityType;
  readonly instanceType: string;
  readonly zone: string;
}

export class UnavailableOfferings {
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Key → when the mark ends. */
  readonly #until = new Map<string, number>();
  #nextEndMs = Number.POSITIVE_INFINITY;
  #version = 0;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** As of now: ends marks that are over. */
  get version(): number {
    this.#sweep();
    return this.#version;
  }

  has({ capacityType, instanceType, zone }: OfferingKey): boolean {
    this.#sweep();
    if (this.#until.size === 0) return false;
    return (
      this.#until.has(`${capacityType}:${instanceType}:${zone}`) ||
      this.#until.has(`${capacityType}`)
    );
  }

  mark(reason: string, { capacityType, instanceType, zone }: OfferingKey): void {
    this.#log.debug("removing offering from offerings", {
      reason,
      "instance-type": instanceType,
      zone,
      "capacity-type": capacityType,
      ttl: "3m0s",
    });
    this.#set(`${capacityType}:${instanceType}:${zone}`);
  }

  /** Nothing of this capacity type can be had (no spot role). */
  markCapacityType(capacityType: CapacityType): void {
    this.#set(capacityType);
  }

  #set(key: string): void {
    const endMs = this.#clock.now() + UNAVAILABLE_MS;
    if (!this.#until.has(key)) this.#version++;
    this.#until.set(key, endMs);
    this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
  }

  #sweep(): void {
    const nowMs = this.#clock.now();
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
