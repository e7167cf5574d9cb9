/**
 * The pricing problem of column generation, solved by branch and bound: the content of one bin with the greatest value.
 * Rows (sets of equal items) are tried in the order of value over resource cost. A branch is skipped if its upper bound
 * does not exceed the best value so far.
 */
import {
  addTimes,
  type Bin,
  dot,
  mostInBin,
  mostWithin,
  type Packing,
  type Row,
} from "./packing.ts";

export class BranchAndBound {
  steps = 0;
  /** The value of the best content so far. */
  value = 0;
  readonly #packing: Packing;
  /** The rows that the bin may hold, in the order in which they are tried. */
  readonly #rows: readonly number[];
  readonly #values: Float64Array;
  readonly #counts: ArrayLike<number>;
  readonly #resourcePrices: Float64Array;
  /** For each row: the value of one item, divided by what its resources cost at `#resourcePrices`. */
  readonly #density: Float64Array;
  readonly #free: Float64Array;
  readonly #times: Int32Array;
  #best: Int32Array | undefined;
  #mostSteps = 0;
  /** The greatest upper bound of the branches that were not searched, because the search ran out of steps. */
  #unsearched = 0;

  /** `counts`: how many items of each row are left. `values`: the value of one item of each row. */
  constructor(
    packing: Packing,
    bin: Bin,
    counts: ArrayLike<number>,
    values: Float64Array,
    prices: Float64Array,
  ) {
    this.#packing = packing;
    this.#values = values;
    this.#counts = counts;
    this.#resourcePrices = prices;
    const density = new Float64Array(packing.rows.length);
    this.#rows = bin.rows
      .filter((index) => {
        if ((values[index] as number) <= 0 || (counts[index] as number) === 0) return false;
        const row = packing.rows[index] as Row;
        if (mostInBin(bin, row, 1) === 0) return false;
        const cost = dot(row.amounts, prices);
        density[index] = (values[index] as number) / Math.max(cost, 1e-300);
        return true;
      })
      .sort((a, b) => (density[b] as number) - (density[a] as number) || a - b);
    this.#density = density;
    this.#free = bin.amounts.slice();
    this.#times = new Int32Array(this.#rows.length);
  }

  /** The most valuable content that the search finds. Undefined: it found none that is worth more than `floor`. */
  best(floor: number, mostSteps: number): { rows: number[]; times: number[] } | undefined {
    this.value = floor;
    this.#mostSteps = mostSteps;
    this.#descend(0, 0);
    const best = this.#best;
    if (best === undefined) return undefined;
    const used = [...best.keys()].filter((at) => (best[at] as number) > 0);
    return {
      rows: used.map((at) => this.#rows[at] as number),
      times: used.map((at) => best[at] as number),
    };
  }

  /** An upper bound on the value of any content of the bin. Valid after {@link best}. */
  get bound(): number {
    return Math.max(this.value, this.#unsearched);
  }

  /** Tries the rows from position `at` on. `value`: the value of the items that are in the bin already. */
  #descend(at: number, value: number): void {
    this.steps++;
    if (value > this.value) {
      this.value = value;
      this.#best = this.#times.slice();
    }
    const index = this.#rows[at];
    if (index === undefined) return;
    const room = dot(this.#free, this.#resourcePrices);
    const bound = value + room * (this.#density[index] as number);
    if (bound <= this.value * (1 + 1e-9)) return;
    if (this.steps > this.#mostSteps) {
      if (bound > this.#unsearched) this.#unsearched = bound;
      return;
    }
    const { amounts, perBin = Number.POSITIVE_INFINITY } = this.#packing.rows[index] as Row;
    const most = Math.min(this.#counts[index] as number, perBin);
    for (let times = mostWithin(this.#free, amounts, most); times >= 0; times--) {
      addTimes(this.#free, amounts, -times);
      this.#times[at] = times;
      this.#descend(at + 1, value + times * (this.#values[index] as number));
      addTimes(this.#free, amounts, times);
    }
    this.#times[at] = 0;
  }
}
