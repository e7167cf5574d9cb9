/**
 * Units (instances) of capacity reservations that planned nodes hold: one unit of each reservation into which the node
 * can still be launched. So no unit is planned twice.
 * upstream: pkg/controllers/provisioning/scheduling/reservationmanager.go
 */
import { assert } from "../../../base/assert.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import { isUsable, reservationOf } from "../../cloudprovider/offerings.ts";

/** Messages for pods that wait for reservations, in upstream's words. */
export const ALL_PROMISED =
  "one or more instance types with compatible reserved offerings are available, but could not be reserved";
export const WOULD_LOSE =
  "satisfying updated nodeclaim constraints would remove all compatible reserved offering options";

export class Reservations {
  /** Reservation id → free units. */
  readonly #left = new Map<string, number>();

  /** Several offerings may report different numbers of units for the same id. The smallest number counts. */
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

  copy(): Reservations {
    if (this.#left.size === 0) return this;
    const copy = new Reservations([]);
    for (const [id, left] of this.#left) copy.#left.set(id, left);
    return copy;
  }

  /** Those of `wanted` that a node can hold, if it holds `held` now. */
  holdable(wanted: readonly string[], held: readonly string[]): readonly string[] {
    return wanted.filter((id) => held.includes(id) || (this.#left.get(id) ?? 0) > 0);
  }

  /** Updates the free units: a node releases the reservations `before` and takes `after`. */
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
