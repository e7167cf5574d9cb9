/** Columns of the linear program as typed arrays, because every step of the simplex method compares all columns. */
import type { Pattern } from "./packing.ts";

/** A pattern (the content of one bin) as a column of the linear program. */
export interface PatternColumn {
  readonly pattern: Pattern;
  /** The price of one bin that is filled by the pattern. */
  readonly price: number;
}

export class ColumnList {
  readonly #prices: Float64Array;
  /** For each column, its start in `#rows` and `#times`. One more number marks the end of the last column. */
  readonly #starts: Int32Array;
  readonly #rows: Int32Array;
  readonly #times: Float64Array;

  constructor(columns: readonly PatternColumn[]) {
    this.#prices = Float64Array.from(columns, ({ price }) => price);
    this.#starts = new Int32Array(columns.length + 1);
    columns.forEach(({ pattern }, at) => {
      this.#starts[at + 1] = (this.#starts[at] as number) + pattern.rows.length;
    });
    this.#rows = new Int32Array(this.#starts[columns.length] as number);
    this.#times = new Float64Array(this.#rows.length);
    columns.forEach(({ pattern }, at) => {
      this.#rows.set(pattern.rows, this.#starts[at]);
      this.#times.set(pattern.times, this.#starts[at]);
    });
  }

  /** The column whose value exceeds its price by the largest share (`gain`). `at` is -1: no gain exceeds `margin`. */
  best(dualPrices: Float64Array, margin: number): { readonly at: number; readonly gain: number } {
    const prices = this.#prices;
    const starts = this.#starts;
    const rows = this.#rows;
    const times = this.#times;
    let best = -1;
    let most = margin;
    let item = 0;
    for (let at = 0; at < prices.length; at++) {
      const end = starts[at + 1] as number;
      let value = 0;
      for (; item < end; item++)
        value += (dualPrices[rows[item] as number] as number) * (times[item] as number);
      const gain = value / (prices[at] as number) - 1;
      if (gain > most) {
        best = at;
        most = gain;
      }
    }
    return { at: best, gain: most };
  }
}
