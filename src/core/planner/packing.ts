/**
 * The batch as a packing problem, free of Kubernetes: rows of equal items, kinds of bins with a
 * price. An item takes an amount in each dimension; a rule that lets only so many pods of a kind on
 * a host is a dimension too, of which each bin has as much.
 */

export interface Row {
  readonly amounts: Float64Array;
  readonly count: number;
  /** Most in one bin, however much room there is; absent: as many as there is room for. */
  readonly perBin?: number | undefined;
}

export interface Bin {
  readonly amounts: Float64Array;
  /** With what each node costs beyond its machine. */
  readonly price: number;
  /** Indices of the rows that may go in. */
  readonly rows: readonly number[];
}

export interface Packing {
  readonly rows: readonly Row[];
  readonly bins: readonly Bin[];
  readonly dimensions: number;
}

/** How often of each row one bin holds, in parallel lists. */
export interface Pattern {
  readonly bin: number;
  readonly rows: readonly number[];
  readonly times: readonly number[];
}

/** So many bins of a pattern. */
export interface Use {
  readonly pattern: Pattern;
  readonly bins: number;
}

/** Counted work, so that a plan depends on no clock. */
export interface Budget {
  units: number;
}

/** Whether there is as much of everything. */
export function holds(free: Float64Array, amounts: Float64Array): boolean {
  for (let d = 0; d < free.length; d++)
    if ((free[d] as number) < (amounts[d] as number)) return false;
  return true;
}

/** How many of a row one bin could hold alone. */
export function mostOf(packing: Packing, bin: Bin, row: Row, count: number): number {
  let most = Math.min(count, row.perBin ?? count);
  for (let d = 0; d < packing.dimensions && most > 0; d++) {
    const amount = row.amounts[d] as number;
    if (amount > 0) most = Math.min(most, Math.floor((bin.amounts[d] as number) / amount));
  }
  return most;
}

/**
 * A bin that is filled again and again, each time anew. Most fillings are looked at and dropped: they are
 * kept here as numbers end to end, and only {@link Filling.content} makes lists of them.
 */
export class Filling {
  readonly #dimensions: number;
  /** Of all rows, end to end. */
  readonly #amounts: Float64Array;
  readonly #perBin: Float64Array;
  readonly #free: Float64Array;
  readonly #rows: Int32Array;
  readonly #times: Float64Array;
  /** Rows that are in it. */
  #size = 0;

  constructor({ rows, dimensions }: Packing) {
    this.#dimensions = dimensions;
    this.#amounts = new Float64Array(rows.length * dimensions);
    this.#perBin = Float64Array.from(rows, ({ perBin = Number.POSITIVE_INFINITY }) => perBin);
    rows.forEach(({ amounts }, index) => {
      this.#amounts.set(amounts, index * dimensions);
    });
    this.#free = new Float64Array(dimensions);
    this.#rows = new Int32Array(rows.length);
    this.#times = new Float64Array(rows.length);
  }

  /** Fills the bin with rows in the order given, as many of each as go in: what they are worth together. */
  fill(bin: Bin, order: readonly number[], counts: ArrayLike<number>, worth: Float64Array): number {
    const [dimensions, amounts, free] = [this.#dimensions, this.#amounts, this.#free];
    const perBin = this.#perBin;
    free.set(bin.amounts);
    let [size, value] = [0, 0];
    for (let at = 0; at < order.length; at++) {
      const row = order[at] as number;
      let most = Math.min(counts[row] as number, perBin[row] as number);
      const start = row * dimensions;
      for (let d = 0; d < dimensions && most > 0; d++) {
        const amount = amounts[start + d] as number;
        const room = free[d] as number;
        // Mostly there is room for none, or for all: dividing takes longer than asking.
        if (amount > room) most = 0;
        else if (amount * most > room) most = Math.floor(room / amount);
      }
      if (most <= 0) continue;
      for (let d = 0; d < dimensions; d++)
        free[d] = (free[d] as number) - most * (amounts[start + d] as number);
      this.#rows[size] = row;
      this.#times[size++] = most;
      value += (worth[row] as number) * most;
    }
    this.#size = size;
    return value;
  }

  /** What it holds, in new lists. */
  content(): { readonly rows: readonly number[]; readonly times: readonly number[] } {
    const [rows, times]: [number[], number[]] = [[], []];
    for (let at = 0; at < this.#size; at++) {
      rows.push(this.#rows[at] as number);
      times.push(this.#times[at] as number);
    }
    return { rows, times };
  }
}

/** Sorts rows by keys that are worked out already; equals by number. */
export function largestKeyFirst(rows: number[], keys: Float64Array): number[] {
  return rows.sort((a, b) => (keys[b] as number) - (keys[a] as number) || a - b);
}

export function priceOf(packing: Packing, uses: readonly Use[]): number {
  return uses.reduce(
    (sum, use) => sum + (packing.bins[use.pattern.bin] as Bin).price * use.bins,
    0,
  );
}
