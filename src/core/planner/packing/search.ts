/**
 * The most that one bin can hold, by branch and bound: rows in the order of worth for what they
 * take at resource prices, most of each first, and nothing below what is known already. Cut short
 * after so many steps, it still says what no filling can exceed.
 */
import { type Bin, mostOf, type Packing, type Row } from "./packing.ts";

export class Search {
  steps = 0;
  /** Of the best found. */
  value = 0;
  readonly #packing: Packing;
  /** By density. */
  readonly #rows: readonly number[];
  readonly #worth: Float64Array;
  readonly #counts: ArrayLike<number>;
  readonly #price: Float64Array;
  readonly #density: Float64Array;
  readonly #free: Float64Array;
  readonly #times: Int32Array;
  #best: Int32Array | undefined;
  #limit = 0;
  /** Of what was left unsearched: the most it could have held. */
  #unsearched = 0;

  constructor(
    packing: Packing,
    bin: Bin,
    counts: ArrayLike<number>,
    worth: Float64Array,
    resourcePrice: Float64Array,
  ) {
    this.#packing = packing;
    this.#worth = worth;
    this.#counts = counts;
    this.#price = resourcePrice;
    const density = new Float64Array(packing.rows.length);
    this.#rows = bin.rows
      .filter((index) => {
        if ((worth[index] as number) <= 0 || (counts[index] as number) === 0) return false;
        const row = packing.rows[index] as Row;
        if (mostOf(packing, bin, row, 1) === 0) return false;
        let price = 0;
        for (let d = 0; d < packing.dimensions; d++) {
          price += (row.amounts[d] as number) * (resourcePrice[d] as number);
        }
        density[index] = (worth[index] as number) / Math.max(price, 1e-300);
        return true;
      })
      .sort((a, b) => (density[b] as number) - (density[a] as number) || a - b);
    this.#density = density;
    this.#free = bin.amounts.slice();
    this.#times = new Int32Array(this.#rows.length);
  }

  /** What is worth more than `floor`, if anything. */
  best(floor: number, steps: number): { rows: number[]; times: number[] } | undefined {
    this.value = floor;
    this.#limit = steps;
    this.#descend(0, 0);
    const best = this.#best;
    if (best === undefined) return undefined;
    const used = [...best.keys()].filter((at) => (best[at] as number) > 0);
    return {
      rows: used.map((at) => this.#rows[at] as number),
      times: used.map((at) => best[at] as number),
    };
  }

  /** After {@link best}: no filling is worth more. */
  get bound(): number {
    return Math.max(this.value, this.#unsearched);
  }

  #descend(at: number, value: number): void {
    this.steps++;
    if (value > this.value) {
      this.value = value;
      this.#best = this.#times.slice();
    }
    const index = this.#rows[at];
    if (index === undefined) return;
    let room = 0;
    for (let d = 0; d < this.#free.length; d++) {
      room += (this.#free[d] as number) * (this.#price[d] as number);
    }
    const bound = value + room * (this.#density[index] as number);
    if (bound <= this.value * (1 + 1e-9)) return;
    if (this.steps > this.#limit) {
      if (bound > this.#unsearched) this.#unsearched = bound;
      return;
    }
    const { amounts, perBin = Number.POSITIVE_INFINITY } = this.#packing.rows[index] as Row;
    let most = Math.min(this.#counts[index] as number, perBin);
    for (let d = 0; d < this.#free.length && most > 0; d++) {
      const amount = amounts[d] as number;
      if (amount > 0) most = Math.min(most, Math.floor((this.#free[d] as number) / amount));
    }
    for (let times = most; times >= 0; times--) {
      this.#take(amounts, times);
      this.#times[at] = times;
      this.#descend(at + 1, value + times * (this.#worth[index] as number));
      this.#take(amounts, -times);
    }
    this.#times[at] = 0;
  }

  #take(amounts: Float64Array, times: number): void {
    for (let d = 0; d < this.#free.length; d++) {
      this.#free[d] = (this.#free[d] as number) - times * (amounts[d] as number);
    }
  }
}
