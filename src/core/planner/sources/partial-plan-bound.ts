/**
 * A lower bound on the price of a greedy plan while it is made: each open node counts with the cheapest instance type
 * that it may still be of. The bound never falls, so a plan whose bound is too high need not be finished.
 */
import type { NewNodeClaim } from "../../provisioning/nodes/new-nodeclaim.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { PriceFloor } from "../../provisioning/pools/price-floor.ts";
import { type Bits, hasBit } from "../../scheduling/bits.ts";

interface PricedType {
  readonly type: number;
  readonly price: number;
}

export class PartialPlanBound {
  /** For each NodePool: its types, the cheapest first. */
  readonly #byPrice: readonly (readonly PricedType[])[];
  /** For each claim: the position of its cheapest type in `#byPrice`. It only grows. */
  readonly #at: number[] = [];
  /** For each claim: its types at the last call, and the price of the cheapest of them. */
  readonly #types: Bits[] = [];
  readonly #prices: number[] = [];

  constructor(templates: readonly Template[], floor: PriceFloor) {
    this.#byPrice = templates.map(({ index }) =>
      floor
        .pricesOf(index)
        .map((price, type) => ({ type, price }))
        .filter(({ price }) => price < Number.POSITIVE_INFINITY)
        .sort((a, b) => a.price - b.price || a.type - b.type),
    );
  }

  /** The bound in micro-dollars an hour. `claims`: the open nodes, those of the last call first. */
  of(claims: readonly NewNodeClaim[]): number {
    let sum = 0;
    for (let id = 0; id < claims.length; id++) {
      const { template, types } = claims[id] as NewNodeClaim;
      // Most claims have got no pod since the last call.
      if (types !== this.#types[id]) this.#update(id, template, types);
      sum += this.#prices[id] as number;
    }
    return sum;
  }

  #update(id: number, { index }: Template, types: Bits): void {
    const byPrice = this.#byPrice[index] as readonly PricedType[];
    let at = this.#at[id] ?? 0;
    while (at < byPrice.length && !hasBit(types, (byPrice[at] as PricedType).type)) at++;
    this.#at[id] = at;
    this.#types[id] = types;
    this.#prices[id] = byPrice[at]?.price ?? 0;
  }
}
