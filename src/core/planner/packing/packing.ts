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
  /** So many of them, the last ones, stand for rules of hosts. Absent: none. */
  readonly slots?: number;
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

const fillings = new WeakMap<Packing, Filling>();

/**
 * A bin that is filled again and again, each time anew. Most fillings are looked at and dropped: they are
 * kept here as numbers end to end, and only {@link Filling.content} makes lists of them. Amounts are counted in
 * what all rows are multiples of: small whole numbers, which code that is not compiled yet need not box.
 */
export class Filling {
  readonly #dimensions: number;
  /** By dimension: what the amounts are counted in. */
  readonly #units: readonly number[];
  /** Of all rows, end to end. */
  readonly #amounts: Numbers;
  readonly #perBin: Int32Array;
  /** What even the smallest row takes of each dimension. */
  readonly #least: Numbers;
  /** What there is in a bin, of those that were filled before. */
  readonly #rooms = new Map<Bin, Numbers>();
  readonly #numbers: (from: readonly number[]) => Numbers;
  readonly #free: Numbers;
  readonly #rows: number[] = [];
  readonly #times: number[] = [];
  /** Rows that are in it. */
  #size = 0;

  /** The one of this packing: whoever fills reads what it holds before anybody else does. */
  static of(packing: Packing): Filling {
    let filling = fillings.get(packing);
    if (filling === undefined) {
      filling = new Filling(packing);
      fillings.set(packing, filling);
    }
    return filling;
  }

  private constructor({ rows, bins, dimensions }: Packing) {
    const each = Array.from({ length: dimensions }, (_, d) => d);
    const of = (d: number) => rows.map(({ amounts }) => amounts[d] as number);
    this.#dimensions = dimensions;
    this.#units = each.map((d) => of(d).reduce(commonUnit, 0) || 1);
    const isSmall = [...rows, ...bins].every(({ amounts }) =>
      amounts.every((amount, d) => amount / (this.#units[d] as number) <= MOST_SMALL),
    );
    this.#numbers = (from) => (isSmall ? Int32Array.from(from) : Float64Array.from(from));
    const least = (d: number) => of(d).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    this.#least = this.#numbers(
      each.map((d) => Math.min(MOST_SMALL, least(d) / (this.#units[d] as number))),
    );
    this.#perBin = Int32Array.from(rows, ({ perBin = MOST_SMALL }) => perBin);
    this.#free = this.#numbers(each);
    this.#amounts = this.#numbers(
      rows.flatMap(({ amounts }) =>
        each.map((d) => (amounts[d] as number) / (this.#units[d] as number)),
      ),
    );
  }

  /** Fills the bin with rows in the order given, as many of each as go in: what they are worth together. */
  fill(bin: Bin, order: readonly number[], counts: ArrayLike<number>, worth: Float64Array): number {
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
        // Mostly there is room for none, or for all: dividing takes longer than asking.
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
      value += (worth[row] as number) * most;
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

  /** What it holds, in new lists, as a pattern of this bin. */
  content(bin: number): Pattern {
    return { bin, rows: this.#rows.slice(0, this.#size), times: this.#times.slice(0, this.#size) };
  }
}

type Numbers = Int32Array | Float64Array;

const MOST_SMALL = 2 ** 31 - 1;

/** The largest of which both are multiples; of nothing and a number the number. */
function commonUnit(a: number, b: number): number {
  let larger = a;
  let smaller = b;
  while (smaller > 0) {
    const rest = larger % smaller;
    larger = smaller;
    smaller = rest;
  }
  return larger;
}

/** From so many rows on moving them one by one takes longer than it spares. */
const MANY_ROWS = 256;

/**
 * Sorts rows by keys that are worked out already; equals by number. Rows that are nearly in order, as they
 * are whenever an order is made anew of the last one, take little.
 */
export function largestKeyFirst(rows: number[], keys: Float64Array): number[] {
  if (rows.length >= MANY_ROWS)
    return rows.sort((a, b) => (keys[b] as number) - (keys[a] as number) || a - b);
  for (let at = 1; at < rows.length; at++) {
    const row = rows[at] as number;
    const key = keys[row] as number;
    let to = at;
    for (; to > 0; to--) {
      const other = rows[to - 1] as number;
      const otherKey = keys[other] as number;
      if (otherKey > key || (otherKey === key && other < row)) break;
      rows[to] = other;
    }
    rows[to] = row;
  }
  return rows;
}

export function priceOf(packing: Packing, uses: readonly Use[]): number {
  return uses.reduce(
    (sum, use) => sum + (packing.bins[use.pattern.bin] as Bin).price * use.bins,
    0,
  );
}
