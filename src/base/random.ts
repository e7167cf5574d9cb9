/**
 * Random numbers for names, UIDs and jitter. A seed gives one sequence of numbers (xoshiro128**), so that a run can be
 * repeated. `fork` gives a part of the program its own sequence, which does not depend on how many numbers other parts
 * use.
 */

/** Kubernetes' alphabet for generated names: no vowels and no characters that look alike. */
const NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** A generator with a seed: equal seeds give equal numbers. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number | string) {
    let state = hashSeed(String(seed));
    const next = (): number => {
      // splitmix32: spreads one word of the seed over four words of state.
      state = (state + 0x9e3779b9) | 0;
      let word = state ^ (state >>> 16);
      word = Math.imul(word, 0x21f0aaad);
      word ^= word >>> 15;
      word = Math.imul(word, 0x735a2d97);
      return (word ^ (word >>> 15)) >>> 0;
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next() || 1;
  }

  /** An unsigned 32-bit integer. */
  uint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotateLeft(this.#d, 11);
    return result;
  }

  /** An integer from 0 to `bound` - 1. `bound`: at least 1, and at most 32 bits. */
  int(bound: number): number {
    return Math.floor((this.uint32() / 0x1_0000_0000) * bound);
  }

  /** A number from 0 to below 1. */
  fraction(): number {
    return this.uint32() / 0x1_0000_0000;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)] as T;
  }

  /** The random end of a generated object name: `length` characters of Kubernetes' alphabet. */
  suffix(length = 5): string {
    let text = "";
    for (let i = 0; i < length; i++) text += NAME_ALPHABET[this.int(NAME_ALPHABET.length)];
    return text;
  }

  /** Text of `length` lower-case hexadecimal digits. */
  hex(length: number): string {
    let text = "";
    for (let i = 0; i < length; i++) text += this.int(16).toString(16);
    return text;
  }

  /** A version 4 UUID. */
  uuid(): string {
    const variant = (8 + this.int(4)).toString(16);
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-${variant}${this.hex(3)}-${this.hex(12)}`;
  }

  /** An independent sequence. `label`: its name, so that different labels give different sequences. */
  fork(label: string): Random {
    return new Random(`${this.uint32()}/${label}`);
  }
}

function rotateLeft(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

function hashSeed(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash | 0;
}
