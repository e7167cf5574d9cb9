/**
 * The share of its pool's limits that a planned node is charged: the capacity of its cheapest instance type. So two
 * small nodes fit into a limit that one node would use up if it were charged as its largest type. At the end each
 * node drops the types for which the limits have no room (see {@link LimitShare.settled}). So the cloud cannot launch
 * more than the limits allow.
 */
import type { Resources } from "../../../apis/resources.ts";
import { type Bits, commonBits, noBits, setBit } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { affordable, chargeLimits, isLimited, type Template } from "../pools/pool-template.ts";

/** The requirements and instance types of the planned node. */
interface State {
  readonly set: SetId;
  readonly types: Bits;
}

export class LimitShare {
  readonly #template: Template;
  /** False: the limits cannot be reached, so nothing is charged. */
  readonly isCounted: boolean;
  /** Undefined: nothing is charged yet. */
  #charged: Resources | undefined;

  constructor(template: Template) {
    this.#template = template;
    this.isCounted = template.isAmple !== true && isLimited(template);
  }

  /** The types of `types` that the limits still allow. */
  within(types: Bits): Bits {
    if (this.#charged === undefined) return types;
    const paid = affordable(this.#template, this.#charged);
    return paid === undefined ? types : commonBits(types, paid);
  }

  /**
   * Charges the capacity of the cheapest type. `isFixed`: charges the largest type, because the node must keep all
   * its types.
   */
  pay({ set, types }: State, isFixed: boolean): void {
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
   * The types that the limits leave to the node after all nodes of the plan were charged. Charges the node for the
   * largest of them.
   */
  settled(types: Bits): Bits {
    if (this.#charged === undefined) return types;
    const kept = this.within(types);
    this.#charged = chargeLimits(this.#template, kept, this.#charged);
    return kept;
  }
}
