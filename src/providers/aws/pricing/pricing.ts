/**
 * Prices per hour in micro-dollars. They start with the embedded table, which answers of the Pricing API and the spot
 * price history then replace. Before the first spot answer a spot offering has the on-demand price. After it, a type
 * and zone without a spot price is not offered.
 * upstream: pkg/providers/pricing
 */
import type { PriceList } from "../../../apis/karpenter/facts.ts";
import { isObject, textOf } from "../../../base/json.ts";
import type { LogFields } from "../../../base/log.ts";
import type { SpotPrice } from "../api/images-and-types.ts";

/** Prices in micro-dollars an hour, by type, and for spot by type and zone. */
export class Prices {
  readonly #onDemand: Map<string, number>;
  readonly #spot = new Map<string, number>();
  #spotKnown = false;
  #version = 0;
  /** When all prices were last read from AWS. Undefined: never. */
  readAtMs: number | undefined;

  /** `fallback`: on-demand prices by type, in micro-dollars. */
  constructor(fallback: Iterable<readonly [string, number]>) {
    this.#onDemand = new Map(fallback);
  }

  /** Grows with each change. Part of cache keys. */
  get version(): number {
    return this.#version;
  }

  /** All known prices, for the ConfigMap karpenter-facts. */
  list(region: string): PriceList {
    const spot = this.#spotKnown ? new Map(this.#spot) : new Map<string, number>();
    return { region, readAtMs: this.readAtMs, onDemand: new Map(this.#onDemand), spot };
  }

  onDemand(type: string): number | undefined {
    return this.#onDemand.get(type);
  }

  spot(type: string, zone: string): number | undefined {
    if (!this.#spotKnown) return this.#onDemand.get(type);
    return this.#spot.get(`${type}/${zone}`);
  }

  /** Sets on-demand prices. Returns how many prices changed. */
  setOnDemand(prices: ReadonlyMap<string, number>): number {
    return this.#lay(this.#onDemand, prices);
  }

  /** Sets spot prices. `prices`: by `type/zone`. Returns how many prices changed. */
  setSpot(prices: ReadonlyMap<string, number>): number {
    if (prices.size > 0 && !this.#spotKnown) {
      this.#spotKnown = true;
      this.#version++;
    }
    return this.#lay(this.#spot, prices);
  }

  #lay(over: Map<string, number>, prices: ReadonlyMap<string, number>): number {
    let changed = 0;
    for (const [key, price] of prices) {
      if (over.get(key) === price) continue;
      over.set(key, price);
      changed++;
    }
    if (changed > 0) this.#version++;
    return changed;
  }
}

/**
 * On-demand prices in a GetProducts answer: type → micro-dollars. Documents without a usable price, and
 * prices of zero, are left out. `currency` is USD, or CNY in China.
 */
export function onDemandPrices(
  documents: readonly string[],
  currency: "USD" | "CNY",
  odd: OddPrices = new OddPrices(),
): Map<string, number> {
  const prices = new Map<string, number>();
  for (const text of documents) {
    const found = priceOfProduct(text, currency, odd);
    if (found !== undefined) prices.set(found.type, found.price);
  }
  return prices;
}

/** Collects prices that cannot be right, so that one log line reports them together. */
export class OddPrices {
  #count = 0;
  readonly #named: string[] = [];

  note(of: string, written: string): void {
    this.#count++;
    if (this.#named.length < 5) this.#named.push(`${of}: ${written}`);
  }

  /** Number and examples of the wrong prices, for one log line. Undefined: no price was wrong. */
  get told(): LogFields | undefined {
    return this.#count === 0 ? undefined : { count: this.#count, prices: this.#named.join(", ") };
  }
}

function priceOfProduct(
  text: string,
  currency: "USD" | "CNY",
  odd: OddPrices,
): { type: string; price: number } | undefined {
  let product: unknown;
  try {
    product = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { instanceType } = fieldsOf(fieldsOf(fieldsOf(product)["product"])["attributes"]);
  if (typeof instanceType !== "string") return undefined;
  for (const term of Object.values(fieldsOf(fieldsOf(fieldsOf(product)["terms"])["OnDemand"]))) {
    for (const dimension of Object.values(fieldsOf(fieldsOf(term)["priceDimensions"]))) {
      const written = fieldsOf(fieldsOf(dimension)["pricePerUnit"])[currency];
      const price = microUsd(textOf(written));
      if (price !== undefined) return { type: instanceType, price };
      // Products such as the use of a reservation cost nothing.
      if (written !== undefined && Number(written) !== 0) odd.note(instanceType, String(written));
    }
  }
  return undefined;
}

/** The highest plausible price in dollars an hour. The most expensive EC2 instance costs less than 1,000. */
const MOST_USD_PER_HOUR = 100_000;

/** Micro-dollars. Undefined: no price at which anything is sold, such as zero, a negative, or an absurd one. */
function microUsd(written: string | undefined): number | undefined {
  const price = Math.round(Number(written) * 1e6);
  return price > 0 && price <= MOST_USD_PER_HOUR * 1e6 ? price : undefined;
}

/** The fields of an object. Empty for any other value. */
function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** The newest price of each (type, zone): `type/zone` → micro-dollars. */
export function spotPrices(
  history: readonly SpotPrice[],
  odd: OddPrices = new OddPrices(),
): Map<string, number> {
  const newest = new Map<string, SpotPrice>();
  for (const entry of history) {
    const key = `${entry.InstanceType}/${entry.AvailabilityZone}`;
    const known = newest.get(key);
    if (known === undefined || entry.Timestamp > known.Timestamp) newest.set(key, entry);
  }
  const prices = new Map<string, number>();
  for (const [key, entry] of newest) {
    const price = microUsd(entry.SpotPrice);
    if (price === undefined) odd.note(key, entry.SpotPrice);
    else prices.set(key, price);
  }
  return prices;
}
