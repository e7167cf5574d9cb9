/** Sets of small integers as bits, for example the instance types that are still possible. */

/** A set: bit `i` is in word `i >> 5`. Sets that are combined must have equal length. */
export type Bits = Uint32Array;

/** An empty set for the numbers below `size`. */
export function noBits(size: number): Bits {
  return new Uint32Array((size + 31) >>> 5);
}

/** A set with all numbers below `size`. */
export function allBits(size: number): Bits {
  const bits = noBits(size).fill(0xffffffff);
  if (size & 31) bits[bits.length - 1] = 2 ** (size & 31) - 1;
  return bits;
}

/** Adds a number. */
export function setBit(bits: Bits, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] as number) | (1 << (index & 31));
}

/** Removes a number. */
export function clearBit(bits: Bits, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] as number) & ~(1 << (index & 31));
}

/** Whether the number is in the set. */
export function hasBit(bits: Bits, index: number): boolean {
  return ((bits[index >>> 5] as number) & (1 << (index & 31))) !== 0;
}

/** Removes the numbers from `target` that are not in `other`. */
export function intersectBits(target: Bits, other: Bits): void {
  for (let word = 0; word < target.length; word++) {
    target[word] = (target[word] as number) & (other[word] as number);
  }
}

/** A new set with the numbers that are in both sets. */
export function intersectionOf(a: Bits, b: Bits): Bits {
  const common = new Uint32Array(a.length);
  for (let word = 0; word < a.length; word++) {
    common[word] = (a[word] as number) & (b[word] as number);
  }
  return common;
}

/** Like {@link intersectionOf}, but returns `a` itself if `b` contains all of it. Do not change the result. */
export function commonBits(a: Bits, b: Bits): Bits {
  for (let word = 0; word < a.length; word++) {
    if (((a[word] as number) & ~(b[word] as number)) !== 0) return intersectionOf(a, b);
  }
  return a;
}

/** Whether some number is in both sets. */
export function haveCommonBits(a: Bits, b: Bits): boolean {
  for (let word = 0; word < a.length; word++)
    if (((a[word] as number) & (b[word] as number)) !== 0) return true;
  return false;
}

/** Adds all numbers of `other` to `target`. */
export function uniteBits(target: Bits, other: Bits): void {
  for (let word = 0; word < target.length; word++) {
    target[word] = (target[word] as number) | (other[word] as number);
  }
}

/** A hash. Equal sets have equal hashes. */
export function hashOfBits(bits: Bits): number {
  let hash = 0;
  for (let word = 0; word < bits.length; word++) {
    hash = (Math.imul(hash, 31) + (bits[word] as number)) | 0;
  }
  return hash;
}

/** Whether the sets are equal. Both must have the same size. */
export function equalBits(a: Bits, b: Bits): boolean {
  for (let word = 0; word < a.length; word++) if (a[word] !== b[word]) return false;
  return a.length === b.length;
}

/** Whether the set is empty. */
export function isEmptyBits(bits: Bits): boolean {
  for (let word = 0; word < bits.length; word++) if (bits[word] !== 0) return false;
  return true;
}

/** Number of members of the set. */
export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < bits.length; word++) {
    // Counts bits in parallel: sums of 2, 4 and 8 bits, then the sum of all bytes.
    let rest = bits[word] as number;
    rest -= (rest >>> 1) & 0x55555555;
    rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333);
    count += Math.imul((rest + (rest >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}

/** The lowest number of `bits` that is not in `others`. -1: there is none. */
export function firstOutside(bits: Bits, others: Bits): number {
  for (let word = 0; word < bits.length; word++) {
    const rest = (bits[word] as number) & ~(others[word] as number);
    if (rest !== 0) return word * 32 + 31 - Math.clz32(rest & -rest);
  }
  return -1;
}

/** The members of the set, ascending. */
export function bitIndices(bits: Bits): number[] {
  const indices: number[] = [];
  for (let word = 0; word < bits.length; word++) {
    let rest = bits[word] as number;
    while (rest !== 0) {
      const lowest = rest & -rest;
      indices.push(word * 32 + (31 - Math.clz32(lowest)));
      rest ^= lowest;
    }
  }
  return indices;
}

const EMPTY: Bits = new Uint32Array(0);

/** A set of small integers that grows as needed. */
export class Marks {
  #words: Bits = EMPTY;
  /** All words below this index are empty. */
  #low = 0;
  /** All words from this index on are empty. */
  #high = 0;
  /** All words below this index are full. */
  #full = 0;

  has(index: number): boolean {
    const word = this.#words[index >>> 5];
    return word !== undefined && (word & (1 << (index & 31))) !== 0;
  }

  add(index: number): void {
    if (index >>> 5 >= this.#words.length) {
      const grown = new Uint32Array(Math.max(4, this.#words.length * 2, (index >>> 5) + 1));
      grown.set(this.#words);
      this.#words = grown;
    }
    setBit(this.#words, index);
    const word = index >>> 5;
    if (this.#high === 0 || word < this.#low) this.#low = word;
    if (word >= this.#high) this.#high = word + 1;
  }

  addAll(other: Marks): void {
    if (other.#high > this.#words.length) {
      const grown = new Uint32Array(other.#high);
      grown.set(this.#words);
      this.#words = grown;
    }
    for (let word = other.#low; word < other.#high; word++)
      this.#words[word] = (this.#words[word] as number) | (other.#words[word] as number);
    this.#low = Math.min(this.#low, other.#low);
    this.#high = Math.max(this.#high, other.#high);
  }

  delete(index: number): void {
    const word = index >>> 5;
    if (word >= this.#words.length) return;
    clearBit(this.#words, index);
    if (word < this.#full) this.#full = word;
  }

  /** The first number from `start` on that is in none of the three sets. */
  firstMissing(start: number, other: Marks = NO_MARKS, third: Marks = NO_MARKS): number {
    // The third set is mostly empty. Then its words are not read, which saves memory accesses.
    if (third.#high === 0) {
      if (other.#high === 0 || other === this) return this.#firstMissing(start);
      if (this.#high === 0) return other.#firstMissing(start);
    }
    let word = start >>> 5;
    let mask = -1 << (start & 31);
    const full = Math.max(this.#fullBelow(), other.#fullBelow(), third.#fullBelow());
    if (word < full) [word, mask] = [full, -1];
    for (; ; word++) {
      const taken = (this.#words[word] ?? 0) | (other.#words[word] ?? 0);
      const free = ~(taken | (third.#words[word] ?? 0)) & mask;
      if (free !== 0) return word * 32 + 31 - Math.clz32(free & -free);
      mask = -1;
    }
  }

  #firstMissing(start: number): number {
    let word = start >>> 5;
    let mask = -1 << (start & 31);
    const full = this.#fullBelow();
    if (word < full) [word, mask] = [full, -1];
    for (; ; word++) {
      const free = ~(this.#words[word] ?? 0) & mask;
      if (free !== 0) return word * 32 + 31 - Math.clz32(free & -free);
      mask = -1;
    }
  }

  clear(): void {
    if (this.#high === 0) return;
    this.#words.fill(0, this.#low, this.#high);
    this.#low = 0;
    this.#high = 0;
    this.#full = 0;
  }

  /** The first member from `start` on that is in none of `others`. -1: there is none. */
  nextOutside(others: readonly Marks[], start: number): number {
    while (this.#low < this.#high && this.#words[this.#low] === 0) this.#low++;
    let from = this.#low;
    for (let at = 0; at < others.length; at++) {
      from = Math.max(from, (others[at] as Marks).#fullBelow());
    }
    const first = start >>> 5;
    let mask = first < from ? -1 : -1 << (start & 31);
    for (let word = Math.max(first, from); word < this.#high; word++) {
      let rest = (this.#words[word] as number) & mask;
      for (let at = 0; at < others.length && rest !== 0; at++) {
        rest &= ~((others[at] as Marks).#words[word] ?? 0);
      }
      if (rest !== 0) return word * 32 + 31 - Math.clz32(rest & -rest);
      mask = -1;
    }
    return -1;
  }

  #fullBelow(): number {
    while (this.#words[this.#full] === 0xffffffff) this.#full++;
    return this.#full;
  }
}

const NO_MARKS = new Marks();
