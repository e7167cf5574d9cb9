/**
 * The charge of a planned node against its pool's limits: the capacity of its cheapest instance type. When planning
 * ends, each node drops the types for which the limits have no room (see {@link LimitCharge.settled}). So the cloud
 * cannot launch more than the limits allow.
 */
import type { Resources } from "../../../apis/resources.ts";
import { type Bits, commonBits, noBits, setBit } from "../../scheduling/bits.ts";
import { affordable, chargeLimits, isLimited, type Template } from "../pools/pool-template.ts";
import type { Fit } from "./trial.ts";

export class LimitCharge {
  readonly #template: Template;
  /** Whether nodes are charged. False: there are no limits, or they have room for every node of the batch. */
  readonly isCounted: boolean;
  /** The charge of this node. Undefined: nothing is charged yet. */
  #charged: Resources | undefined;

  constructor(template: Template) {
    this.#template = template;
    this.isCounted = template.isAmple !== true && isLimited(template);
  }

  /** Those of `types` that the limits still allow. */
  within(types: Bits): Bits {
    if (this.#charged === undefined) return types;
    const paid = affordable(this.#template, this.#charged);
    return paid === undefined ? types : commonBits(types, paid);
  }

  /** Charges the cheapest type. `isFixed`: the node must keep all its types, so the largest type is charged. */
  charge({ set, types }: Pick<Fit, "set" | "types">, isFixed: boolean): void {
    if (!this.isCounted) return;
    const { table } = this.#template;
    const cheapest = isFixed ? undefined : table.cheapestType(types, set);
    let needed = types;
    if (cheapest !== undefined) {
      needed = noBits(table.size);
      setBit(needed, cheapest);
    }
    this.#charged = chargeLimits(this.#template, needed, this.#charged);
  }

  /**
   * The types that the limits still allow after the whole plan was charged. Charges this node for the largest of them.
   */
  settled(types: Bits): Bits {
    if (this.#charged === undefined) return types;
    const kept = this.within(types);
    this.#charged = chargeLimits(this.#template, kept, this.#charged);
    return kept;
  }
}
