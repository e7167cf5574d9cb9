/**
 * Counts of pods by host number, for a topology rule about hosts. Hosts without pods are not stored. Each what-if
 * question counts pods on a few hosts and then removes these counts. A Map keeps deleted entries for a while, which
 * slows down later look-ups. So this is a hash table of its own.
 */

const FREE = -1;
const LEAST_SLOTS = 8;
/** The multiplier of the hash. It spreads consecutive numbers over the table. */
const FACTOR = 0x9e3779b1;

export class HostCounts {
  /** A host and its count in each slot. At most half of the slots are used. */
  #slots = freeSlots(LEAST_SLOTS);
  #shift = 1 + Math.clz32(LEAST_SLOTS);
  #size = 0;

  /** Number of hosts with a count. */
  get size(): number {
    return this.#size;
  }

  /** The count of a host; 0 if it has none. */
  get(host: number): number {
    return this.#slots[this.#find(host) + 1] as number;
  }

  set(host: number, count: number): void {
    const at = this.#find(host);
    const isThere = this.#slots[at] === host;
    if (count === 0) {
      if (isThere) this.#remove(at);
      return;
    }
    this.#slots[at] = host;
    this.#slots[at + 1] = count;
    if (!isThere && ++this.#size * 4 > this.#slots.length) this.#grow();
  }

  /** All hosts with a count, in no defined order. */
  *entries(): Iterable<readonly [host: number, count: number]> {
    const slots = this.#slots;
    for (let at = 0; at < slots.length; at += 2)
      if (slots[at] !== FREE) yield [slots[at] as number, slots[at + 1] as number];
  }

  /** The index of the host's slot, or of the free slot where it would be stored. */
  #find(host: number): number {
    const slots = this.#slots;
    let at = this.#home(host);
    while (slots[at] !== host && slots[at] !== FREE) at = (at + 2) & (slots.length - 1);
    return at;
  }

  #home(host: number): number {
    return (Math.imul(host, FACTOR) >>> this.#shift) * 2;
  }

  /** Clears the slot. Then moves entries back that were stored further on because this slot was used. */
  #remove(gap: number): void {
    const slots = this.#slots;
    const last = slots.length - 1;
    let free = gap;
    for (let at = (gap + 2) & last; slots[at] !== FREE; at = (at + 2) & last) {
      const home = this.#home(slots[at] as number);
      if (((at - home) & last) < ((at - free) & last)) continue;
      slots.copyWithin(free, at, at + 2);
      free = at;
    }
    slots[free] = FREE;
    slots[free + 1] = 0;
    this.#size--;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = freeSlots(before.length);
    this.#shift--;
    this.#size = 0;
    for (let at = 0; at < before.length; at += 2)
      if (before[at] !== FREE) this.set(before[at] as number, before[at + 1] as number);
  }
}

function freeSlots(count: number): Int32Array {
  const slots = new Int32Array(2 * count);
  for (let at = 0; at < slots.length; at += 2) slots[at] = FREE;
  return slots;
}
