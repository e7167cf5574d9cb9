/** Fills one bin (a node) again and again, each time with an even share of every row (a set of equal pods). */
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import { EVEN_WORK_PER_ROW, PARTS_OF_EVEN_BINS, WORK_PER_STEP } from "../settings.ts";
import {
  addTimes,
  type Bin,
  dot,
  holds,
  mostWithin,
  type Packing,
  type Pattern,
  type PatternUse,
  type Row,
} from "./packing.ts";
import { resourcePrices } from "./resource-prices.ts";
import { byShape } from "./row-orders.ts";

export class EvenFiller {
  /** Steps of work since the caller last set it to 0. */
  work = 0;
  /** The kind of bin that was filled last; -1: none. */
  bin = -1;
  /** A lower bound on the price of bins for all items that were left when resources were last priced. */
  leastCost = 0;
  readonly #packing: Packing;
  /** For each row: the number of items that are left. The caller changes this array. */
  readonly #left: Float64Array;
  /** The rows by their ratio of cpu to memory. What one row loses by rounding, the next, similar row gets. */
  readonly #byShape: readonly number[];
  #byValue: readonly number[] = [];
  readonly #values: Float64Array;
  readonly #times: Float64Array;
  readonly #free: Float64Array;
  /** For each row: 1 if the bin that is being filled may hold it. */
  readonly #isAllowed: Uint8Array;
  readonly #allowed = new Map<readonly number[], ReadonlySet<number>>();
  /** How many bins of the kind `bin` would hold all items that such a bin may hold, if items could be split. */
  #binsForAll = 1;

  constructor(packing: Packing, left: Float64Array) {
    this.#packing = packing;
    this.#left = left;
    this.#byShape = byShape(packing);
    this.#values = new Float64Array(packing.rows.length);
    this.#times = new Float64Array(packing.rows.length);
    this.#isAllowed = new Uint8Array(packing.rows.length);
    this.#free = new Float64Array(packing.dimensions);
  }

  /**
   * Prices resources by the items that are left, and fills one bin of each kind in `among`. Returns value over price.
   */
  *price(among: readonly number[]): Steps<Float64Array> {
    const { rows, bins } = this.#packing;
    const { prices, leastCost } = resourcePrices(this.#packing, this.#left);
    this.leastCost = leastCost;
    rows.forEach(({ amounts }, row) => {
      this.#values[row] = dot(amounts, prices);
    });
    this.#byValue = this.#byShape.toSorted(
      (a, b) => (this.#values[b] as number) - (this.#values[a] as number) || a - b,
    );
    this.work += bins.length + rows.length;
    const ratios = new Float64Array(among.length);
    let spent = 0;
    for (const [at, bin] of among.entries()) {
      ratios[at] = this.fill(bin);
      spent += EVEN_WORK_PER_ROW * rows.length;
      if (spent < WORK_PER_STEP) continue;
      yield;
      spent = 0;
    }
    return ratios;
  }

  /** Fills a bin of kind `index`: an even share of each row, then the most valuable items. Returns value over price. */
  fill(index: number): number {
    const { rows, bins } = this.#packing;
    const bin = bins[index] as Bin;
    const allowed = this.#allowedRows(bin);
    this.bin = index;
    this.#free.set(bin.amounts);
    this.#times.fill(0);
    this.#binsForAll = this.#countBins(bin, allowed);
    let value = 0;
    // The rest after rounding carries over to the next row. Starting at 0.5 rounds to the nearest integer.
    let owed = 0.5;
    for (const row of allowed) {
      owed += (this.#left[row] as number) / this.#binsForAll;
      const whole = Math.floor(owed);
      owed -= whole;
      value += this.#add(row, whole);
    }
    for (const row of this.#byValue)
      if (this.#isAllowed[row] === 1) value += this.#add(row, this.#left[row] as number);
    this.work += EVEN_WORK_PER_ROW * rows.length;
    // Avoids 0 / 0 if both the items and the bin cost nothing.
    return value > 0 ? value / bin.price : 0;
  }

  /** The content of the last filled bin, and how many bins to fill like it before shares are computed again. */
  content(): PatternUse {
    const rows = this.#byShape.filter((row) => (this.#times[row] as number) > 0);
    const times = rows.map((row) => this.#times[row] as number);
    let bins = Math.max(1, Math.floor(this.#binsForAll / PARTS_OF_EVEN_BINS));
    rows.forEach((row, at) => {
      bins = Math.min(bins, Math.floor((this.#left[row] as number) / (times[at] as number)));
    });
    const pattern: Pattern = { bin: this.bin, rows, times };
    return { pattern, bins };
  }

  /** The rows, by shape, with items left of which one fits into the empty bin. Sets `#isAllowed` for them. */
  #allowedRows({ rows, amounts }: Bin): readonly number[] {
    const own = within(this.#allowed, rows, () => new Set(rows));
    this.#isAllowed.fill(0);
    return this.#byShape.filter((row) => {
      const isAllowed =
        (this.#left[row] as number) > 0 &&
        own.has(row) &&
        holds(amounts, (this.#packing.rows[row] as Row).amounts);
      if (isAllowed) this.#isAllowed[row] = 1;
      return isAllowed;
    });
  }

  /** How many bins all items of these rows fill, if items could be split. The scarcest dimension decides. */
  #countBins({ amounts: size }: Bin, allowed: readonly number[]): number {
    const wanted = new Float64Array(size.length);
    for (const row of allowed) {
      const { amounts } = this.#packing.rows[row] as Row;
      addTimes(wanted, amounts, this.#left[row] as number);
    }
    let bins = 1;
    for (let d = 0; d < size.length; d++)
      if ((wanted[d] as number) > 0)
        bins = Math.max(bins, (wanted[d] as number) / (size[d] as number));
    return bins;
  }

  /** Adds up to `most` items of the row, as far as items are left and fit. Returns their value. */
  #add(row: number, most: number): number {
    const { amounts, perBin = Number.POSITIVE_INFINITY } = this.#packing.rows[row] as Row;
    const known = this.#times[row] as number;
    const left = Math.min(most, (this.#left[row] as number) - known, perBin - known);
    const times = mostWithin(this.#free, amounts, left);
    if (times <= 0) return 0;
    addTimes(this.#free, amounts, -times);
    this.#times[row] = known + times;
    return times * (this.#values[row] as number);
  }
}
