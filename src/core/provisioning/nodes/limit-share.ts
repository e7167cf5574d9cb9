/**
 * What a planned node takes of its pool's limits: as much as its cheapest type has. So two small nodes fit a limit
 * that the largest type they might become would use up. In the end each node keeps to the types for which
 * the limits have room (see {@link LimitShare.settled}), and the cloud cannot launch more than they allow.
 */
import type { Resources } from "../../../apis/resources.ts";
import { type Bits, commonBits, noBits, setBit } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { affordable, chargeLimits, isLimited, type Template } from "../pools/pool-template.ts";

/** What the node may become. */
interface State {
  readonly set: SetId;
  readonly types: Bits;
}

export class LimitShare {
  readonly #template: Template;
  /** Whether somebody must count: the limits may be reached. */
  readonly isCounted: boolean;
  /** Undefined: nothing yet. */
  #charged: Resources | undefined;

  constructor(template: Template) {
    this.#template = template;
    this.isCounted = template.isAmple !== true && isLimited(template);
  }

  /** Those of the types that the node may still become. */
  within(types: Bits): Bits {
    if (this.#charged === undefined) return types;
    const paid = affordable(this.#template, this.#charged);
    return paid === undefined ? types : commonBits(types, paid);
  }

  /**
   * Takes what the cheapest type has. `isFixed`: takes what the largest has, for the node may not become fewer
   * types.
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

  /** The types that the limits leave the node, once all nodes of the plan have taken their share. It takes the rest. */
  settled(types: Bits): Bits {
    if (this.#charged === undefined) return types;
    const kept = this.within(types);
    this.#charged = chargeLimits(this.#template, kept, this.#charged);
    return kept;
  }
}
