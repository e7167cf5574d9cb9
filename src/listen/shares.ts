/**
 * An amount that is shared by all addresses: connections, requests, bytes. No address may have more than its share, and
 * together they may not have more than there is.
 */

/** Divides a total among callers, so that no address takes more than its share. */
export class Shares {
  readonly #total: number;
  readonly #perAddress: number;
  readonly #held = new Map<string, number>();
  #sum = 0;

  constructor(total: number, sharePercent: number) {
    this.#total = total;
    this.#perAddress = Math.ceil((total * sharePercent) / 100);
  }

  /** False: there is not as much left, and nothing was taken. */
  take(address: string, amount: number): boolean {
    const held = (this.#held.get(address) ?? 0) + amount;
    if (held > this.#perAddress || this.#sum + amount > this.#total) return false;
    this.#held.set(address, held);
    this.#sum += amount;
    return true;
  }

  /** Gives back what was taken. */
  give(address: string, amount: number): void {
    const held = (this.#held.get(address) ?? 0) - amount;
    if (held > 0) this.#held.set(address, held);
    else this.#held.delete(address);
    this.#sum -= amount;
  }
}
