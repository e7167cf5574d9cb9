/** Lower bounds on prices, computed without a plan: of each type that a pool can launch, and of each resource. */
import type { Resources } from "../../../apis/resources.ts";
import { type Bits, hasBit, noBits, setBit } from "../../scheduling/bits.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import type { Template } from "./pool-template.ts";

export class PriceFloor {
  /** The lowest price of each type, by index of the NodePool, then by position. Infinite: it cannot be launched. */
  readonly #prices: readonly (readonly number[])[];
  /** The lowest price of one unit of each resource, in micro-dollars per hour. */
  readonly #perUnit = new Map<string, number>();

  constructor(templates: readonly Template[], space: RequirementSpace) {
    this.#prices = templates.map(({ table, set, usable }) =>
      table.offerings
        .cheapest(space.get(set))
        .map((offering, index) =>
          offering === undefined || !hasBit(usable, index)
            ? Number.POSITIVE_INFINITY
            : offering.priceMicroUsd,
        ),
    );
    templates.forEach(({ table }, at) => {
      table.types.forEach(({ capacity }, index) => {
        const price = this.#prices[at]?.[index] ?? Number.POSITIVE_INFINITY;
        for (const name in capacity) {
          const perUnit = price / Math.max(1, capacity[name] as number);
          if (perUnit < (this.#perUnit.get(name) ?? Number.POSITIVE_INFINITY))
            this.#perUnit.set(name, perUnit);
        }
      });
    });
  }

  /**
   * The lowest price of each type of the NodePool with this index, by position of the type. Infinite: it cannot be
   * launched.
   */
  pricesOf(template: number): readonly number[] {
    return this.#prices[template] ?? [];
  }

  /** A lower bound on the price of new nodes with room for these requests, in micro-dollars per hour. */
  least(requests: Resources): number {
    let least = 0;
    for (const name in requests) {
      const perUnit = this.#perUnit.get(name);
      if (perUnit !== undefined) least = Math.max(least, perUnit * (requests[name] as number));
    }
    return least;
  }

  /** The types of the NodePool whose lowest price is below `priceMicroUsd`. */
  below({ index, table }: Template, priceMicroUsd: number): Bits {
    const bits = noBits(table.size);
    this.#prices[index]?.forEach((price, type) => {
      if (price < priceMicroUsd) setBit(bits, type);
    });
    return bits;
  }
}
