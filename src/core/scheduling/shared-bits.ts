/**
 * Makes equal sets one object. A planned node is asked many thousand times which types are still possible, and there
 * are few different answers. So facts about an answer are computed once.
 */
import { type Bits, equalBits, hashOfBits } from "./bits.ts";

/** A planning state may be used for days, so the memory is bounded. */
const MOST_KEPT = 10_000;

/** Keeps one object for equal sets, to save memory. */
export class SharedBits {
  readonly #byHash = new Map<number, Bits[]>();

  /** The set that was returned for an equal one before, or a copy. Do not change it. */
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
