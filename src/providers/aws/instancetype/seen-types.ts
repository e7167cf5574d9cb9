/**
 * The instance types that were last listed for each pool, for the metrics of instance types. A pool without a recent
 * list was deleted or is not in use.
 * upstream: pkg/controllers/metrics/controller.go
 */
import type { Clock } from "../../../base/clock.ts";
import type { Sample } from "../../../base/metrics.ts";
import type { InstanceType } from "../../../core/cloudprovider/instance-type.ts";

const REMEMBER_MS = 5 * 60_000;

interface Seen {
  readonly types: readonly InstanceType[];
  readonly atMs: number;
}

interface OfferingSeen {
  readonly labels: Readonly<Record<string, string>>;
  /** The lowest price in micro-dollars an hour. Undefined: it is not known. */
  priceMicroUsd: number | undefined;
  available: boolean;
}

/** The instance types last listed for each pool, for the metrics of availability and price. */
export class SeenTypes {
  readonly #clock: Clock;
  readonly #byPool = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(poolId: string, types: readonly InstanceType[]): void {
    this.#byPool.set(poolId, { types, atMs: this.#clock.elapsedMs() });
  }

  /** The list of a pool. Empty: none was made recently. */
  of(poolId: string): readonly InstanceType[] {
    return this.#byPool.get(poolId)?.types ?? [];
  }

  *prices(): Iterable<Sample> {
    for (const { labels, priceMicroUsd } of this.#offerings())
      if (priceMicroUsd !== undefined) yield { labels, value: priceMicroUsd / 1_000_000 };
  }

  /** 1 if some pool can launch the offering. `reserved`: adds rows for types without a reservation. */
  *availability(reserved: boolean): Iterable<Sample> {
    for (const { labels, available } of this.#offerings(reserved))
      yield { labels, value: available ? 1 : 0 };
  }

  *cores(): Iterable<Sample> {
    for (const { name, capacity } of this.#types())
      yield { labels: { instance_type: name }, value: (capacity["cpu"] ?? 0) / 1_000 };
  }

  *memory(): Iterable<Sample> {
    for (const { name, capacity } of this.#types())
      yield { labels: { instance_type: name }, value: capacity["memory"] ?? 0 };
  }

  /** The lists of all pools. Pools may share a list, which then counts once. */
  #lists(): ReadonlySet<readonly InstanceType[]> {
    const nowMs = this.#clock.elapsedMs();
    for (const [pool, { atMs }] of this.#byPool)
      if (nowMs - atMs > REMEMBER_MS) this.#byPool.delete(pool);
    return new Set([...this.#byPool.values()].map(({ types }) => types));
  }

  #types(): Iterable<InstanceType> {
    const types = new Map<string, InstanceType>();
    for (const list of this.#lists()) for (const type of list) types.set(type.name, type);
    return types.values();
  }

  #offerings(reserved = false): Iterable<OfferingSeen> {
    const found = new Map<string, OfferingSeen>();
    const seen = (instance_type: string, zone: string, capacity_type: string): OfferingSeen => {
      const key = `${instance_type}/${zone}/${capacity_type}`;
      let one = found.get(key);
      if (one === undefined) {
        const labels = { instance_type, capacity_type, zone };
        one = { labels, priceMicroUsd: undefined, available: false };
        found.set(key, one);
      }
      return one;
    };
    for (const list of this.#lists()) {
      for (const { name, offerings } of list) {
        for (const { zone, capacityType, priceMicroUsd, available } of offerings) {
          const one = seen(name, zone, capacityType);
          one.available ||= available;
          // An offering without a price is not sold in this zone.
          if (priceMicroUsd > 0 || capacityType === "reserved")
            one.priceMicroUsd = Math.min(one.priceMicroUsd ?? priceMicroUsd, priceMicroUsd);
          if (reserved) seen(name, zone, "reserved");
        }
      }
    }
    return found.values();
  }
}
