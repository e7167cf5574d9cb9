/**
 * What a pool asks for a unit of each resource at the least: by it pools are told apart that are as good as each other
 * but for their names.
 */
import type { Resources } from "../../apis/resources.ts";
import type { Template } from "../provisioning/pools/pool-template.ts";
import { bitIndices, intersectionOf } from "../scheduling/bits.ts";
import type { RequirementSpace, SetId } from "../scheduling/requirement-space.ts";

export class UnitPrices {
  readonly #space: RequirementSpace;
  readonly #nodeMicroUsd: number;
  /** By template and set. */
  readonly #known = new Map<string, Readonly<Record<string, number>>>();

  /** `nodeMicroUsd`: what a node costs an hour beyond its machine. */
  constructor(space: RequirementSpace, nodeMicroUsd: number) {
    this.#space = space;
    this.#nodeMicroUsd = nodeMicroUsd;
  }

  /** Micro-dollars an hour of a pod that asks for so much, on nodes of this set that are full of what they are cheapest in. */
  of(template: Template, set: SetId, requests: Resources): number {
    const key = `${template.index} ${set}`;
    let prices = this.#known.get(key);
    if (prices === undefined) {
      prices = this.#pricesOf(template, set);
      this.#known.set(key, prices);
    }
    let most = 0;
    for (const name in requests)
      most = Math.max(most, (requests[name] as number) * (prices[name] ?? 0));
    return most;
  }

  #pricesOf({ table, budget }: Template, set: SetId): Readonly<Record<string, number>> {
    const least: Record<string, number> = {};
    const offerings = table.offerings.cheapest(this.#space.get(set));
    for (const type of bitIndices(intersectionOf(table.compatible(set), budget.within))) {
      const offering = offerings[type];
      if (offering === undefined) continue;
      const price = offering.priceMicroUsd + this.#nodeMicroUsd;
      const amounts = table.allocatable(type);
      for (const name in amounts) {
        const perUnit = price / Math.max(1, amounts[name] as number);
        if (!(perUnit >= (least[name] ?? Number.POSITIVE_INFINITY))) least[name] = perUnit;
      }
    }
    return least;
  }
}
