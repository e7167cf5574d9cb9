/**
 * Returns one object for equal sets. The instance types that are still possible on a planned node are computed many
 * thousand times, but there are few different results. One object for each result lets other code cache facts by
 * object.
 */
import { type Bits, equalBits, hashOfBits } from "./bits.ts";

/**
 * The most hashes for which sets are kept. A bound is needed because the state of what-if questions is used for days.
 */
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
