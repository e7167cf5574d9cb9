/**
 * Shares a total (of connections, requests or bytes) among client addresses. No address gets more than its
 * share, and all together not more than the total.
 */

/** Hands out parts of a total to addresses. */
export class Shares {
  readonly #total: number;
  readonly #perAddress: number;
  readonly #held = new Map<string, number>();
  #sum = 0;

  constructor(total: number, sharePercent: number) {
    this.#total = total;
    this.#perAddress = Math.ceil((total * sharePercent) / 100);
  }

  /** Reserves an amount for the address. Returns false, and reserves nothing, if the amount is not available. */
  take(address: string, amount: number): boolean {
    const held = (this.#held.get(address) ?? 0) + amount;
    if (held > this.#perAddress || this.#sum + amount > this.#total) return false;
    this.#held.set(address, held);
    this.#sum += amount;
    return true;
  }

  /** Frees an amount that the address had reserved. */
  give(address: string, amount: number): void {
    const held = (this.#held.get(address) ?? 0) - amount;
    if (held > 0) this.#held.set(address, held);
    else this.#held.delete(address);
    this.#sum -= amount;
  }
}
