/** The linear program of column generation. A row is a set of equal items, a pattern is the content of one bin. */
import { ColumnList, type PatternColumn } from "./column-list.ts";
import {
  type Bin,
  mostInBin,
  type Packing,
  type Pattern,
  type Row,
  type WorkBudget,
} from "./packing.ts";

/** Numbers up to this size count as zero, because the simplex method rounds. */
export const ZERO = 1e-9;
/**
 * Share of the price. A pattern joins the program only if its content is worth more than its price by this share.
 * Otherwise rounding errors could make patterns enter and leave for ever.
 */
export const ENTRY_MARGIN = 1e-6;

/** A solution of the linear program. */
export interface PatternMix {
  /** The number of bins of each pattern. It may be a fraction. */
  readonly columns: readonly { readonly pattern: Pattern; readonly bins: number }[];
  /** For each row: the dual price of one more item. */
  readonly dualPrices: Float64Array;
}

/**
 * The cheapest mix of the patterns known so far, by the revised simplex method, which keeps the inverse of the basis.
 */
export class LinearProgram {
  readonly #rows: readonly number[];
  /** For each row of the packing: its index in `#rows`. -1: the row has no items. */
  readonly #at: Int32Array;
  /** The columns of the basis. Undefined stands for the surplus of a row: more items are packed than exist. */
  readonly #basis: (PatternColumn | undefined)[];
  readonly #inverse: Float64Array[];
  /** For each column of the basis: the number of bins, or of surplus items. */
  readonly #amount: Float64Array;
  /** For each row of the packing: the dual price of one more item. Updated with each change of the basis. */
  readonly #dualPrices: Float64Array;
  /** Memory that {@link #pivot} uses again in each call: where the inverse's line of the leaving column is not zero. */
  readonly #filled: Int32Array;

  /** `basis`: for each of `rows`, a pattern that holds items of this row only. `counts`: the items of each row. */
  private constructor(
    rows: readonly number[],
    basis: readonly PatternColumn[],
    counts: ArrayLike<number>,
  ) {
    this.#rows = rows;
    this.#at = new Int32Array(counts.length).fill(-1);
    rows.forEach((row, at) => {
      this.#at[row] = at;
    });
    this.#basis = [...basis];
    this.#amount = new Float64Array(rows.length);
    this.#dualPrices = new Float64Array(counts.length);
    this.#filled = new Int32Array(rows.length);
    this.#inverse = rows.map((row, at) => {
      const { pattern, price } = basis[at] as PatternColumn;
      const times = pattern.times[0] as number;
      this.#amount[at] = (counts[row] as number) / times;
      this.#dualPrices[row] = price / times;
      const line = new Float64Array(rows.length);
      line[at] = 1 / times;
      return line;
    });
  }

  /** One pattern for each row as a start: its items alone in their cheapest bin. Undefined: some item fits no bin. */
  static start(
    packing: Packing,
    bins: readonly number[],
    rows: readonly number[],
    counts: ArrayLike<number>,
  ): LinearProgram | undefined {
    const basis: PatternColumn[] = [];
    for (const index of rows) {
      const row = packing.rows[index] as Row;
      let best: PatternColumn | undefined;
      let least = Number.POSITIVE_INFINITY;
      for (const at of bins) {
        const bin = packing.bins[at] as Bin;
        if (!bin.rows.includes(index)) continue;
        const times = mostInBin(bin, row, counts[index] as number);
        if (times === 0 || bin.price / times >= least) continue;
        least = bin.price / times;
        best = { pattern: { bin: at, rows: [index], times: [times] }, price: bin.price };
      }
      if (best === undefined) return undefined;
      basis.push(best);
    }
    return new LinearProgram(rows, basis, counts);
  }

  /** For each row of the packing: the dual price of one more item. A copy. */
  get dualPrices(): Float64Array {
    return this.#dualPrices.slice();
  }

  get price(): number {
    let price = 0;
    for (let at = 0; at < this.#basis.length; at++)
      price += (this.#basis[at]?.price ?? 0) * (this.#amount[at] as number);
    return price;
  }

  /** Adds columns that lower the price until none does or the budget is spent. Returns whether the mix has changed. */
  improve(columns: readonly PatternColumn[], budget: WorkBudget): boolean {
    let changed = false;
    const dualPrices = this.#dualPrices;
    const list = new ColumnList(columns);
    for (let step = 0; step < columns.length * 3 && budget.units > 0; step++) {
      // The best ratio of gain to price enters first. By the gain alone, large bins would enter and be replaced later.
      const { at, gain: share } = list.best(dualPrices, ENTRY_MARGIN);
      const best = columns[at];
      // If a row has a negative dual price, packing more of its items than exist lowers the price.
      const surplus =
        best === undefined
          ? this.#rows.findIndex((row) => (dualPrices[row] as number) < -ZERO)
          : -1;
      if (best === undefined && surplus < 0) return changed;
      budget.units -= (this.#rows.length * this.#rows.length) >> 2;
      const gain =
        best === undefined
          ? (dualPrices[this.#rows[surplus] as number] as number)
          : -share * best.price;
      if (!this.#pivot(best, surplus, gain)) return changed;
      changed = true;
    }
    return changed;
  }

  mix(): PatternMix {
    const columns: { pattern: Pattern; bins: number }[] = [];
    this.#basis.forEach((column, at) => {
      const bins = this.#amount[at] as number;
      if (column === undefined || bins <= ZERO) return;
      columns.push({ pattern: column.pattern, bins });
    });
    return { columns, dualPrices: this.dualPrices };
  }

  /**
   * Brings the column into the basis. Undefined: the surplus of the row at index `surplus` instead. `gain`: by how much
   * one bin, or one surplus item, changes the price; a negative number. False: the program is unbounded.
   */
  #pivot(column: PatternColumn | undefined, surplus: number, gain: number): boolean {
    const size = this.#rows.length;
    const direction = new Float64Array(size);
    for (let at = 0; at < size; at++) {
      const line = this.#inverse[at] as Float64Array;
      if (column === undefined) direction[at] = -(line[surplus] as number);
      else {
        const { rows, times } = column.pattern;
        let sum = 0;
        for (let item = 0; item < rows.length; item++) {
          sum +=
            (line[this.#at[rows[item] as number] as number] as number) * (times[item] as number);
        }
        direction[at] = sum;
      }
    }
    let leaving = -1;
    let step = Number.POSITIVE_INFINITY;
    for (let at = 0; at < size; at++) {
      if ((direction[at] as number) <= ZERO) continue;
      const ratio = (this.#amount[at] as number) / (direction[at] as number);
      if (ratio < step) {
        step = ratio;
        leaving = at;
      }
    }
    if (leaving < 0) return false;
    const pivoted = this.#inverse[leaving] as Float64Array;
    const by = direction[leaving] as number;
    // Most numbers of this line stay zero for many rounds, so only the indices of the other numbers are stored.
    const [filled, rows] = [this.#filled, this.#rows];
    let count = 0;
    for (let to = 0; to < size; to++) {
      if (pivoted[to] === 0) continue;
      const line = (pivoted[to] as number) / by;
      pivoted[to] = line;
      const row = rows[to] as number;
      this.#dualPrices[row] = (this.#dualPrices[row] as number) + gain * line;
      filled[count++] = to;
    }
    for (let at = 0; at < size; at++) {
      if (at === leaving) continue;
      const factor = direction[at] as number;
      if (factor === 0) continue;
      const line = this.#inverse[at] as Float64Array;
      for (let item = 0; item < count; item++) {
        const to = filled[item] as number;
        line[to] = (line[to] as number) - factor * (pivoted[to] as number);
      }
      this.#amount[at] = Math.max(0, (this.#amount[at] as number) - factor * step);
    }
    this.#amount[leaving] = step;
    this.#basis[leaving] = column;
    return true;
  }
}
