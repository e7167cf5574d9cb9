/** A lower bound on the cost of pods in each NodePool. It is used to choose between NodePools of equal rank. */
import type { Resources } from "../../../apis/resources.ts";
import { within } from "../../../base/within.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import { PriceFloor } from "../../provisioning/pools/price-floor.ts";
import { intersectionOf } from "../../scheduling/bits.ts";
import type { RequirementSpace, SetId } from "../../scheduling/requirement-space.ts";

export class PoolPriceFloors {
  readonly #space: RequirementSpace;
  /** The bound, by NodePool and set of requirements. */
  readonly #floors = new Map<string, PriceFloor>();

  constructor(space: RequirementSpace) {
    this.#space = space;
  }

  /** The price of these requests as a share of a completely filled node that meets `set`, in micro-dollars an hour. */
  of(template: Template, set: SetId, requests: Resources): number {
    const key = `${template.index} ${set}`;
    const floor = within(this.#floors, key, () => {
      const { table, limitsLeft } = template;
      const usable = intersectionOf(table.compatible(set), limitsLeft.within);
      return new PriceFloor([{ ...template, set, usable }], this.#space);
    });
    return floor.least(requests);
  }
}
