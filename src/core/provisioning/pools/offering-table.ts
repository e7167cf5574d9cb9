/**
 * The available offerings of a pool's instance types, by kind: one combination of zone, capacity type and other labels.
 * A region has few kinds and tens of thousands of offerings, so requirements are checked once for each kind.
 */
import { BoundedMap, within } from "../../../base/within.ts";
import type { InstanceType, Offering } from "../../cloudprovider/instance-type.ts";
import { isCheaper, isCompatible, isUsable, reservationOf } from "../../cloudprovider/offerings.ts";
import { type Bits, noBits, setBit } from "../../scheduling/bits.ts";
import type { Requirements } from "../../scheduling/requirements.ts";

interface Entry {
  readonly kind: number;
  readonly offering: Offering;
}

export class OfferingTable {
  readonly hasReserved: boolean;
  /** One offering as an example of each kind. */
  readonly #kinds: Offering[] = [];
  /** The offerings of each type, by position of the type. */
  readonly #entries: readonly (readonly Entry[])[];
  /** Cached results of {@link cheapest}, by allowed kinds. */
  readonly #cheapest = new BoundedMap<string, readonly (Offering | undefined)[]>(MOST_KEPT);

  constructor(types: readonly InstanceType[]) {
    const kinds = new Map<string, number>();
    this.#entries = types.map(({ offerings }) =>
      offerings.filter(isUsable).map((offering) => {
        const { zone, capacityType, labels } = offering;
        const text = `${zone} ${capacityType} ${labels === undefined ? "" : JSON.stringify(labels)}`;
        const kind = within(kinds, text, () => this.#kinds.push(offering) - 1);
        return { kind, offering };
      }),
    );
    this.hasReserved = this.#kinds.some(isReserved);
  }

  /** The types with an offering that satisfies the requirements and is not reserved. */
  open(requirements: Requirements): Bits {
    return this.#typesWith(requirements, (offering) => !isReserved(offering));
  }

  /** For each type, by position: the ids of its reservations that the requirements allow. */
  reserved(requirements: Requirements): readonly (readonly string[])[] {
    const allowed = this.#allowed(requirements);
    return this.#entries.map((entries) => {
      const ids = entries
        .filter(({ kind }) => allowed[kind])
        .flatMap(({ offering }) => reservationOf(offering)?.id ?? []);
      return ids.length === 0 ? NO_IDS : ids;
    });
  }

  /** The types with an offering that satisfies the requirements. */
  offered(requirements: Requirements): Bits {
    return this.#typesWith(requirements, () => true);
  }

  #typesWith(requirements: Requirements, suits: (offering: Offering) => boolean): Bits {
    const allowed = this.#allowed(requirements);
    const bits = noBits(this.#entries.length);
    this.#entries.forEach((entries, index) => {
      if (entries.some(({ kind, offering }) => allowed[kind] && suits(offering)))
        setBit(bits, index);
    });
    return bits;
  }

  /** For each type, by position: its cheapest offering that satisfies the requirements. */
  cheapest(requirements: Requirements): readonly (Offering | undefined)[] {
    const allowed = this.#allowed(requirements);
    const text = allowed.map((one) => (one ? "1" : "0")).join("");
    return within(this.#cheapest, text, () =>
      this.#entries.map((entries) => cheapestOf(entries, allowed)),
    );
  }

  /** The label with the id of a reservation. Undefined: no offering is reserved. */
  reservationKey(): string | undefined {
    for (const kind of this.#kinds) {
      const reservation = reservationOf(kind);
      if (reservation !== undefined) return reservation.key;
    }
    return undefined;
  }

  #allowed(requirements: Requirements): readonly boolean[] {
    return this.#kinds.map((kind) => isCompatible(kind, requirements));
  }
}

/** The most results that are cached. There are few zones and capacity types, so few different calls. */
const MOST_KEPT = 64;

function cheapestOf(entries: readonly Entry[], allowed: readonly boolean[]): Offering | undefined {
  let best: Offering | undefined;
  // A loop by index is faster here, because it mostly runs before V8 compiles it.
  for (let at = 0; at < entries.length; at++) {
    const { kind, offering } = entries[at] as Entry;
    if (allowed[kind] !== true) continue;
    if (best === undefined || isCheaper(offering, best)) best = offering;
  }
  return best;
}

const NO_IDS: readonly string[] = [];

function isReserved({ capacityType }: Offering): boolean {
  return capacityType === "reserved";
}
