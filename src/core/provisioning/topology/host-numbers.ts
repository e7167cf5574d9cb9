/** Gives each host name a small number, because topology rules over hosts look up very many hosts. */
import { within } from "../../../base/within.ts";

/** An existing or planned node. */
export interface Numbered {
  readonly hostname: string;
  /** Id of a planned node; the first one of a pass is 0. */
  readonly id?: number;
  /** The number of the host. {@link UNNUMBERED} until a rule about hosts needs it. */
  host: number;
}

export const UNNUMBERED = -1;

export class HostNumbers {
  readonly #numbers = new Map<string, number>();
  /** The numbers of planned nodes, by their id. A planned node has only a placeholder as its host name. */
  readonly #planned: number[] = [];
  readonly #names: string[] = [];
  /** Numbers of hosts that no longer exist. They are used again. */
  readonly #free: number[] = [];

  of(place: Numbered): number {
    if (place.host === UNNUMBERED) {
      const { id, hostname } = place;
      place.host =
        id === undefined
          ? within(this.#numbers, hostname, () => this.#next(hostname))
          : (this.#planned[id] ?? this.#next(hostname));
      if (id !== undefined) this.#planned[id] = place.host;
    }
    return place.host;
  }

  name(host: number): string {
    return this.#names[host] ?? "";
  }

  /** Frees the number of a host name. Call it only if no node has the name, and no rule counts pods there. */
  forget(hostname: string): void {
    const number = this.#numbers.get(hostname);
    if (number === undefined) return;
    this.#numbers.delete(hostname);
    this.#free.push(number);
  }

  #next(hostname: string): number {
    const number = this.#free.pop() ?? this.#names.length;
    this.#names[number] = hostname;
    return number;
  }
}
