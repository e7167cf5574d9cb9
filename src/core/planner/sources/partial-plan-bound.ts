/**
 * A lower bound on the price of a greedy plan while it is made: each open node counts with the cheapest instance type
 * that it may still be of. The bound never falls, so a plan whose bound is too high need not be finished. Nodes that
 * will surely be opened later count with the cheapest type of all.
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

  /** A lower bound on the number of nodes of the finished plan. */
  readonly #nodes: number;
  readonly #leastPrice: number;

  constructor(templates: readonly Template[], floor: PriceFloor, nodes = 0) {
    this.#nodes = nodes;
    this.#byPrice = templates.map(({ index }) =>
      floor
        .pricesOf(index)
        .map((price, type) => ({ type, price }))
        .filter(({ price }) => price < Number.POSITIVE_INFINITY)
        .sort((a, b) => a.price - b.price || a.type - b.type),
    );
    const prices = this.#byPrice.flatMap(([cheapest]) => cheapest?.price ?? []);
    this.#leastPrice = prices.length === 0 ? 0 : Math.min(...prices);
  }

  /** The lower bound on the number of nodes. `claims`: the open nodes. */
  nodes(claims: readonly NewNodeClaim[]): number {
    return Math.max(claims.length, this.#nodes);
  }

  /** The bound in micro-dollars an hour. `claims`: the open nodes, those of the last call first. */
  of(claims: readonly NewNodeClaim[]): number {
    let sum = (this.nodes(claims) - claims.length) * this.#leastPrice;
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
