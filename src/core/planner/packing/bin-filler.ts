/**
 * Fills one bin (a node) again and again. Searches discard most contents, so the last content stays plain numbers until
 * {@link BinFiller.content} is called. A row is a set of equal items (pods); a dimension is a resource. Amounts are
 * divided by the greatest common divisor of all rows, so that most of them fit into 32-bit integers.
 */
import { within } from "../../../base/within.ts";
import type { Bin, Packing, Pattern } from "./packing.ts";

const fillers = new WeakMap<Packing, BinFiller>();

export class BinFiller {
  readonly #dimensions: number;
  /** For each dimension: the greatest common divisor of the rows' amounts. */
  readonly #units: readonly number[];
  /** The amounts of all rows, one row after the other. */
  readonly #amounts: Numbers;
  readonly #perBin: Int32Array;
  /** For each dimension, the least that one item of any row takes. A bin that has less left is full. */
  readonly #least: Numbers;
  /** For each kind of bin (instance type): the amount of each dimension in an empty bin. */
  readonly #rooms = new Map<Bin, Numbers>();
  readonly #numbers: (from: readonly number[]) => Numbers;
  readonly #free: Numbers;
  readonly #rows: number[] = [];
  readonly #times: number[] = [];
  /** Number of rows in the content of the last fill: the valid length of `#rows` and `#times`. */
  #size = 0;

  /** The one filler of this packing. The next fill replaces the content, so read it before that. */
  static of(packing: Packing): BinFiller {
    return within(fillers, packing, () => new BinFiller(packing));
  }

  private constructor({ rows, bins, dimensions }: Packing) {
    const each = Array.from({ length: dimensions }, (_, d) => d);
    const of = (d: number) => rows.map(({ amounts }) => amounts[d] as number);
    this.#dimensions = dimensions;
    this.#units = each.map((d) => of(d).reduce(commonDivisor, 0) || 1);
    const isSmall = [...rows, ...bins].every(({ amounts }) =>
      amounts.every((amount, d) => amount / (this.#units[d] as number) <= MOST_INT32),
    );
    this.#numbers = (from) => (isSmall ? Int32Array.from(from) : Float64Array.from(from));
    const least = (d: number) => of(d).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    this.#least = this.#numbers(
      each.map((d) => Math.min(MOST_INT32, least(d) / (this.#units[d] as number))),
    );
    this.#perBin = Int32Array.from(rows, ({ perBin = MOST_INT32 }) => perBin);
    this.#free = this.#numbers(each);
    this.#amounts = this.#numbers(
      rows.flatMap(({ amounts }) =>
        each.map((d) => (amounts[d] as number) / (this.#units[d] as number)),
      ),
    );
  }

  /** Fills an empty bin in the `order` of rows: as many items as are left (`counts`) and fit. Returns their value. */
  fill(
    bin: Bin,
    order: readonly number[],
    counts: ArrayLike<number>,
    values: Float64Array,
  ): number {
    const dimensions = this.#dimensions;
    const amounts = this.#amounts;
    const perBin = this.#perBin;
    const free = this.#free;
    free.set(this.#roomOf(bin));
    let size = 0;
    let value = 0;
    let isFull = false;
    for (let at = 0; at < order.length && !isFull; at++) {
      const row = order[at] as number;
      let most = counts[row] as number;
      if (most > (perBin[row] as number)) most = perBin[row] as number;
      const start = row * dimensions;
      for (let d = 0; d < dimensions && most > 0; d++) {
        const amount = amounts[start + d] as number;
        const room = free[d] as number;
        // Two comparisons are faster than a division, which is seldom needed.
        if (amount > room) most = 0;
        else if (amount * most > room) most = Math.floor(room / amount);
      }
      if (most <= 0) continue;
      for (let d = 0; d < dimensions; d++) {
        const left = (free[d] as number) - most * (amounts[start + d] as number);
        free[d] = left;
        if (left < (this.#least[d] as number)) isFull = true;
      }
      this.#rows[size] = row;
      this.#times[size++] = most;
      value += (values[row] as number) * most;
    }
    this.#size = size;
    return value;
  }

  #roomOf(bin: Bin): Numbers {
    let room = this.#rooms.get(bin);
    if (room === undefined) {
      const whole = this.#units.map((unit, d) => Math.floor((bin.amounts[d] as number) / unit));
      room = this.#numbers(whole);
      this.#rooms.set(bin, room);
    }
    return room;
  }

  /** The content of the last fill as a pattern, in new lists. `bin`: the index of the kind of bin. */
  content(bin: number): Pattern {
    return { bin, rows: this.#rows.slice(0, this.#size), times: this.#times.slice(0, this.#size) };
  }
}

type Numbers = Int32Array | Float64Array;

const MOST_INT32 = 2 ** 31 - 1;

function commonDivisor(a: number, b: number): number {
  let larger = a;
  let smaller = b;
  while (smaller > 0) {
    const rest = larger % smaller;
    larger = smaller;
    smaller = rest;
  }
  return larger;
}
