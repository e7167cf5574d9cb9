/** Columns end to end, as plain numbers, for they are weighed again at every step of the simplex method. */
import type { Pattern } from "./packing.ts";

/** A pattern that may be let in, and what one bin of it costs. */
export interface Column {
  readonly pattern: Pattern;
  readonly price: number;
}

export class Listed {
  readonly #prices: Float64Array;
  /** Where each begins, and behind them where the last one ends. */
  readonly #starts: Int32Array;
  readonly #rows: Int32Array;
  readonly #times: Float64Array;

  constructor(columns: readonly Column[]) {
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

  /**
   * The one that is worth `most` for its price, beyond the price itself; -1: none is worth more, by the
   * margin as a share of it.
   */
  best(worth: Float64Array, margin: number): { readonly at: number; readonly most: number } {
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
        value += (worth[rows[item] as number] as number) * (times[item] as number);
      const saved = value / (prices[at] as number) - 1;
      if (saved > most) {
        best = at;
        most = saved;
      }
    }
    return { at: best, most };
  }
}
