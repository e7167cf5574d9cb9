/**
 * Zones that traffic is shifted away from. No instance is launched there, and a missing instance there is not taken for
 * terminated. A shift ends at its end time; an autoshift ends when AWS ends it.
 * upstream: pkg/providers/arczonalshift
 */
import type { Clock } from "../../../base/clock.ts";
import type { GetManagedResourceOutput } from "../api/zonal-shift.ts";

/** What changed since the last poll. */
export interface ShiftChange {
  /** The ids of zones in which a shift began, sorted. */
  readonly begun: readonly string[];
  readonly ended: readonly string[];
}

/** The zones that traffic is shifted away from now. */
export class ZonalShifts {
  readonly #clock: Clock;
  /** When the shift of each zone ends, by zone id. */
  #untilMs: ReadonlyMap<string, number> = new Map();
  #told: ReadonlySet<string> = new Set();
  #version = 0;
  #asked = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Changes with every change of the set of zones. */
  get version(): number {
    this.#sweep();
    return this.#version;
  }

  has(zoneId: string): boolean {
    if (this.#untilMs.size === 0) return false;
    this.#sweep();
    return this.#untilMs.has(zoneId);
  }

  /** Whether the zone may have a shift. A zone whose id is not known may be any of them. */
  mayHave(zoneId: string | undefined): boolean {
    if (zoneId !== undefined) return this.has(zoneId);
    this.#sweep();
    return this.#untilMs.size > 0;
  }

  /** Whether AWS has been asked since the start, with or without an answer. */
  get asked(): boolean {
    return this.#asked;
  }

  noteAsked(): void {
    this.#asked = true;
  }

  /** Replaces all shifts by those that AWS lists now. A shift that is not listed any more was cancelled. */
  take({ zonalShifts, autoshifts }: GetManagedResourceOutput): void {
    const untilMs = new Map<string, number>();
    for (const { appliedStatus, awayFrom } of autoshifts)
      if (appliedStatus === "APPLIED") untilMs.set(awayFrom, Number.POSITIVE_INFINITY);
    for (const { appliedStatus, awayFrom, expiryTime } of zonalShifts) {
      const endMs = Date.parse(expiryTime);
      if (appliedStatus !== "APPLIED" || endMs <= this.#clock.now()) continue;
      untilMs.set(awayFrom, Math.max(untilMs.get(awayFrom) ?? 0, endMs));
    }
    this.#set(untilMs);
  }

  /** What changed since the last call of this function. */
  changes(): ShiftChange {
    this.#sweep();
    const now = new Set(this.#untilMs.keys());
    const before = this.#told;
    this.#told = now;
    return {
      begun: [...now].filter((one) => !before.has(one)).sort(),
      ended: [...before].filter((one) => !now.has(one)).sort(),
    };
  }

  #sweep(): void {
    const nowMs = this.#clock.now();
    const lasting = [...this.#untilMs].filter(([, endMs]) => endMs > nowMs);
    if (lasting.length < this.#untilMs.size) this.#set(new Map(lasting));
  }

  #set(untilMs: ReadonlyMap<string, number>): void {
    const same =
      untilMs.size === this.#untilMs.size &&
      [...untilMs.keys()].every((zoneId) => this.#untilMs.has(zoneId));
    this.#untilMs = untilMs;
    if (!same) this.#version++;
  }
}
