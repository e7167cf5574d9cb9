/**
 * Who in a pass may count on which capacity reservation. A planned node takes one unit of each
 * reservation that it might still be launched into, so that no unit is promised twice; what it can
 * no longer use it gives back. upstream:
 * pkg/controllers/provisioning/scheduling/reservationmanager.go
 */
import { assert } from "../../../base/assert.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { isUsable, reservationOf } from "../../cloudprovider/offerings.ts";

/** Why pods wait for reservations, in upstream's sentences. */
export const ALL_PROMISED =
  "one or more instance types with compatible reserved offerings are available, but could not be reserved";
export const WOULD_LOSE =
  "satisfying updated nodeclaim constraints would remove all compatible reserved offering options";

export class Reservations {
  /** Id → units that nobody holds. */
  readonly #left = new Map<string, number>();

  /** Clouds may know of an id by several offerings, and not equally well: the least counts. */
  constructor(types: Iterable<InstanceType>) {
    for (const { offerings } of types) {
      for (const offering of offerings) {
        const reservation = reservationOf(offering);
        if (reservation === undefined || !isUsable(offering)) continue;
        const count = offering.reservationCapacity ?? 0;
        const known = this.#left.get(reservation.id) ?? count;
        this.#left.set(reservation.id, Math.min(known, count));
      }
    }
  }

  /** As it stands, to go on from without touching this one. */
  copy(): Reservations {
    if (this.#left.size === 0) return this;
    const copy = new Reservations([]);
    for (const [id, left] of this.#left) copy.#left.set(id, left);
    return copy;
  }

  /** Of `wanted` those that a node could hold which has `held` so far. */
  holdable(wanted: readonly string[], held: readonly string[]): readonly string[] {
    return wanted.filter((id) => held.includes(id) || (this.#left.get(id) ?? 0) > 0);
  }

  /** A node that had `before` now has `after`. */
  exchange(before: readonly string[], after: readonly string[]): void {
    for (const id of before) if (!after.includes(id)) this.#add(id, 1);
    for (const id of after) if (!before.includes(id)) this.#add(id, -1);
  }

  #add(id: string, change: number): void {
    const left = (this.#left.get(id) ?? 0) + change;
    assert(left >= 0, "a reservation is not promised more often than it is there");
    this.#left.set(id, left);
  }
}
