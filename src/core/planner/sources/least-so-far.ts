/**
 * What a plan that is being made will cost at the least: each node it has opened so far at the price of the
 * cheapest type that the node still may be. Pods only take types away from a node and nodes are never
 * closed, so a plan that costs too much halfway need not be made to its end. Nodes that it is known to need
 * besides count at the price of the cheapest type of all.
 */
import type { NewNodeClaim } from "../../provisioning/nodes/new-nodeclaim.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import type { PriceFloor } from "../../provisioning/pools/price-floor.ts";
import { type Bits, hasBit } from "../../scheduling/bits.ts";

interface PricedType {
  readonly type: number;
  readonly price: number;
}

export class LeastSoFar {
  /** By template: types by price. */
  readonly #byPrice: readonly (readonly PricedType[])[];
  /** By claim: where its cheapest type is in that list. It only ever moves on. */
  readonly #at: number[] = [];
  /** By claim: the types it had at the last call, and the price of the cheapest of them. */
  readonly #types: Bits[] = [];
  readonly #prices: number[] = [];

  /** Nodes it will have in the end at the least. */
  readonly #nodes: number;
  /** What any node costs. */
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

  /** How many nodes it will have at the least. `claims`: as of {@link of}. */
  nodes(claims: readonly NewNodeClaim[]): number {
    return Math.max(claims.length, this.#nodes);
  }

  /** Micro-dollars an hour. `claims`: as at the last call, or more of them. */
  of(claims: readonly NewNodeClaim[]): number {
    let sum = (this.nodes(claims) - claims.length) * this.#leastPrice;
    for (let id = 0; id < claims.length; id++) {
      const { template, types } = claims[id] as NewNodeClaim;
      // Most got no pod since.
      if (types !== this.#types[id]) this.#look(id, template, types);
      sum += this.#prices[id] as number;
    }
    return sum;
  }

  #look(id: number, { index }: Template, types: Bits): void {
    const byPrice = this.#byPrice[index] as readonly PricedType[];
    let at = this.#at[id] ?? 0;
    while (at < byPrice.length && !hasBit(types, (byPrice[at] as PricedType).type)) at++;
    this.#at[id] = at;
    this.#types[id] = types;
    this.#prices[id] = byPrice[at]?.price ?? 0;
  }
}
