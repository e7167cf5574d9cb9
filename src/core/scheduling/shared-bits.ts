/**
 * Returns one object for equal sets. The types that are still possible on planned nodes are computed many thousand
 * times, but there are few different results. So facts about a result can be cached by object.
 */
import { type Bits, equalBits, hashOfBits } from "./bits.ts";

/** The most sets that are kept. A bound is needed because a planning state may be used for days. */
const MOST_KEPT = 10_000;

export class SharedBits {
  readonly #byHash = new Map<number, Bits[]>();

  /** The object that was returned for an equal set before, or else a copy. Do not change it. */
  of(bits: Bits): Bits {
    const hash = hashOfBits(bits);
    const alike = this.#byHash.get(hash);
    const known = alike?.find((one) => equalBits(one, bits));
    if (known !== undefined) return known;
    const copy = bits.slice();
    if (alike !== undefined) alike.push(copy);
    else {
      if (this.#byHash.size >= MOST_KEPT) this.#byHash.clear();
      this.#byHash.set(hash, [copy]);
    }
    return copy;
  }
}
