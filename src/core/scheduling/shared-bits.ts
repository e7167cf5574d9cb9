/**
 * Equal sets as one object. A pass asks many thousand times what a planned node can still be, and there are few
 * different answers: each is kept once, and whatever is found out about it is found out once.
 */
import { type Bits, equalBits, hashOfBits } from "./bits.ts";

/** A picture that is followed lasts for days. */
const MOST_KEPT = 10_000;

export class SharedBits {
  readonly #byHash = new Map<number, Bits[]>();

  /** The set that was given for an equal one before, or else a copy. Not to be changed. */
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
