/**
 * Small numbers for host names. Rules about hosts count pods on each of very many: by name every look-up reads
 * strings from all over the memory, by number it reads the table alone.
 */

/** What stands on a host, or will be one. */
export interface Numbered {
  readonly hostname: string;
  /** Of a planned node: the first in a pass is 0. */
  readonly id?: number;
  /** Of the host; {@link UNNUMBERED} until a rule about hosts looks at it. */
  host: number;
}

export const UNNUMBERED = -1;

export class HostNumbers {
  readonly #numbers = new Map<string, number>();
  /** By id of the planned node: no host that is there has a name like theirs. */
  readonly #planned: number[] = [];
  readonly #names: string[] = [];
  /** Of hosts that are no more. */
  readonly #free: number[] = [];

  /** The same for all that have the name. */
  of(place: Numbered): number {
    if (place.host === UNNUMBERED) {
      const { id, hostname } = place;
      place.host = id === undefined ? this.#number(hostname) : this.#ofPlanned(id, hostname);
    }
    return place.host;
  }

  name(host: number): string {
    return this.#names[host] ?? "";
  }

  /** Nothing has the name any more, and nothing is counted there: another host may get the number. */
  forget(hostname: string): void {
    const number = this.#numbers.get(hostname);
    if (number === undefined) return;
    this.#numbers.delete(hostname);
    this.#free.push(number);
  }

  #number(hostname: string): number {
    let number = this.#numbers.get(hostname);
    if (number === undefined) {
      number = this.#next(hostname);
      this.#numbers.set(hostname, number);
    }
    return number;
  }

  #ofPlanned(id: number, hostname: string): number {
    let number = this.#planned[id];
    if (number === undefined) {
      number = this.#next(hostname);
      this.#planned[id] = number;
    }
    return number;
  }

  #next(hostname: string): number {
    const number = this.#free.pop() ?? this.#names.length;
    this.#names[number] = hostname;
    return number;
  }
}
