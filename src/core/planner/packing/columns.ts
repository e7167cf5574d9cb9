/**
 * Column generation: the cheapest fractional mix of patterns that takes every item, found by
 * letting patterns in as long as one is worth more than its price. Rounded down it is most of a
 * plan; what is left over is planned the same way until nothing is. Gilmore and Gomory, 1961.
 */
import type { Steps } from "../../../base/steps.ts";
import { type Column, Listed } from "./listed.ts";
import {
  type Bin,
  type Budget,
  Filling,
  largestKeyFirst,
  mostOf,
  type Packing,
  type Pattern,
  type Row,
  type Use,
} from "./packing.ts";
import { Search } from "./search.ts";

const EPSILON = 1e-9;
/** A pattern must be better than its price by so much to be let in. */
const MARGIN = 1e-6;
/** How far a search for one bin goes. */
const SEARCH_STEPS = 1_000;
/** So many rounds that together save less than this share are the last. */
const ROUNDS = 5;
const LEAST_GAIN = 0.00005;
/** Columns let in per round of pricing. */
const PER_ROUND = 40;
/** Bins that are weighed from then on when no other is worth more than its price, at most so often. */
const PER_WAKING = 8;
const WAKINGS = 4;

export interface Mix {
  readonly columns: readonly { readonly pattern: Pattern; readonly bins: number }[];
  /** What an item of each row is worth at the end. */
  readonly worth: Float64Array;
}

/**
 * Undefined when some row fits in none of the bins in `awake`. Bins that are not among them are looked at
 * when those have no more to give, and join them when they do better.
 */
export function* bestMix(
  packing: Packing,
  counts: ArrayLike<number>,
  resourcePrice: Float64Array,
  budget: Budget,
  awake: number[],
  seeds: readonly Pattern[] = [],
): Steps<Mix | undefined> {
  const rows = [...packing.rows.keys()].filter((index) => (counts[index] as number) > 0);
  const master = Master.start(packing, awake, rows, counts);
  if (master === undefined) return undefined;
  const orders = new Orders(packing, rows, resourcePrice);
  if (seeds.length > 0)
    master.improve(
      seeds.map((pattern) => columnOf(packing, pattern)),
      budget,
    );
  let [rounds, before, wakings] = [0, master.price, 0];
  while (budget.units > 0) {
    yield;
    const { worth } = master;
    let found: readonly Column[] = [];
    const gains = ++rounds % ROUNDS !== 0 || master.price <= before * (1 - LEAST_GAIN);
    if (rounds % ROUNDS === 0) before = master.price;
    if (gains) {
      found = byOrders(packing, awake, counts, worth, orders, budget);
      if (found.length === 0)
        found = bySearch(packing, awake, counts, worth, resourcePrice, budget);
    }
    if (found.length === 0 && wakings++ < WAKINGS) {
      const known = new Set(awake);
      const asleep = [...packing.bins.keys()].filter((bin) => !known.has(bin));
      found = byOrders(packing, asleep, counts, worth, orders, budget).slice(0, PER_WAKING);
      awake.push(...found.map(({ pattern }) => pattern.bin));
    }
    if (found.length === 0 || !master.improve(found, budget)) break;
  }
  return master.mix();
}

/** The rows by worth for what they take, each time another resource counts. */
class Orders {
  readonly #weights: readonly Float64Array[];
  /** By weight: the rows as they were ordered last. */
  readonly #last: readonly number[][];
  readonly #density: Float64Array;
  readonly filling: Filling;

  constructor(packing: Packing, rows: readonly number[], resourcePrice: Float64Array) {
    this.#density = new Float64Array(packing.rows.length);
    this.filling = Filling.of(packing);
    const sizes = new Float64Array(packing.dimensions);
    for (const { amounts, count } of packing.rows) {
      for (let d = 0; d < sizes.length; d++) {
        sizes[d] = (sizes[d] as number) + (amounts[d] as number) * count;
      }
    }
    const share = (d: number, row: number) =>
      (sizes[d] as number) === 0
        ? 0
        : ((packing.rows[row] as Row).amounts[d] as number) / (sizes[d] as number);
    const weighted = (weight: (row: number) => number) =>
      Float64Array.from(packing.rows, (_, row) => weight(row) + 1e-15);
    this.#weights = [
      weighted((row) => dot((packing.rows[row] as Row).amounts, resourcePrice)),
      weighted((row) => share(0, row)),
      weighted((row) => share(1, row)),
      weighted((row) => share(0, row) + share(1, row)),
    ];
    this.#last = this.#weights.map(() => [...rows]);
  }

  by(worth: Float64Array): number[][] {
    const density = this.#density;
    return this.#weights.map((weights, index) => {
      const rows = this.#last[index] as number[];
      for (let at = 0; at < rows.length; at++) {
        const row = rows[at] as number;
        density[row] = (worth[row] as number) / (weights[row] as number);
      }
      return largestKeyFirst(rows, density).filter((row) => (worth[row] as number) > EPSILON);
    });
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let d = 0; d < a.length; d++) sum += (a[d] as number) * (b[d] as number);
  return sum;
}

function columnOf(packing: Packing, pattern: Pattern): Column {
  return { pattern, price: (packing.bins[pattern.bin] as Bin).price };
}

/** Patterns worth more than their price, the best first. */
function byOrders(
  packing: Packing,
  bins: readonly number[],
  counts: ArrayLike<number>,
  worth: Float64Array,
  orders: Orders,
  budget: Budget,
): Column[] {
  const { filling } = orders;
  const found: Found[] = [];
  const lists = orders.by(worth);
  for (const index of bins) {
    const bin = packing.bins[index] as Bin;
    const allowed = bin.rows.length === packing.rows.length ? undefined : new Set(bin.rows);
    let pattern: Pattern | undefined;
    let most = bin.price * (1 + MARGIN);
    for (const list of lists) {
      const order = allowed === undefined ? list : list.filter((row) => allowed.has(row));
      budget.units -= order.length;
      const value = filling.fill(bin, order, counts, worth);
      if (value <= most) continue;
      most = value;
      pattern = filling.content(index);
    }
    if (pattern !== undefined)
      found.push({ column: { pattern, price: bin.price }, ratio: most / bin.price });
  }
  return bestOf(found);
}

interface Found {
  readonly column: Column;
  readonly ratio: number;
}

function bestOf(found: Found[]): Column[] {
  found.sort((a, b) => b.ratio - a.ratio || a.column.pattern.bin - b.column.pattern.bin);
  return found.slice(0, PER_ROUND).map(({ column }) => column);
}

/** As {@link byOrders}, by looking through the ways to fill each bin, as long as it is worth while. */
function bySearch(
  packing: Packing,
  bins: readonly number[],
  counts: ArrayLike<number>,
  worth: Float64Array,
  resourcePrice: Float64Array,
  budget: Budget,
): Column[] {
  const found: Found[] = [];
  for (const index of bins) {
    if (budget.units <= 0) break;
    const bin = packing.bins[index] as Bin;
    const search = new Search(packing, bin, counts, worth, resourcePrice);
    const pattern = search.best(bin.price * (1 + MARGIN), SEARCH_STEPS);
    budget.units -= search.steps * packing.dimensions;
    if (pattern === undefined) continue;
    found.push({
      column: { pattern: { bin: index, ...pattern }, price: bin.price },
      ratio: search.value / bin.price,
    });
  }
  return bestOf(found);
}

/** The restricted problem by the revised simplex method, with the inverse of its basis at hand. */
class Master {
  readonly #rows: readonly number[];
  /** Row of the packing → row here. */
  readonly #at: Int32Array;
  /** In the basis; undefined: a surplus of that row. */
  readonly #basis: (Column | undefined)[];
  readonly #inverse: Float64Array[];
  readonly #amount: Float64Array;
  /** What one more item of each row would cost, kept up to date with the basis. */
  readonly #worth: Float64Array;
  /** Scratch of {@link #pivot}: where the line that leaves is not zero. */
  readonly #filled: Int32Array;

  private constructor(
    packing: Packing,
    rows: readonly number[],
    basis: readonly Column[],
    counts: ArrayLike<number>,
  ) {
    this.#rows = rows;
    this.#at = new Int32Array(packing.rows.length).fill(-1);
    rows.forEach((row, at) => {
      this.#at[row] = at;
    });
    this.#basis = [...basis];
    this.#amount = new Float64Array(rows.length);
    this.#worth = new Float64Array(packing.rows.length);
    this.#filled = new Int32Array(rows.length);
    this.#inverse = rows.map((row, at) => {
      const { pattern, price } = basis[at] as Column;
      const times = pattern.times[0] as number;
      this.#amount[at] = (counts[row] as number) / times;
      this.#worth[row] = price / times;
      const line = new Float64Array(rows.length);
      line[at] = 1 / times;
      return line;
    });
  }

  /** Each row alone in the bin that is cheapest for it. */
  static start(
    packing: Packing,
    awake: readonly number[],
    rows: readonly number[],
    counts: ArrayLike<number>,
  ): Master | undefined {
    const basis: Column[] = [];
    for (const index of rows) {
      const row = packing.rows[index] as Row;
      let best: Column | undefined;
      let least = Number.POSITIVE_INFINITY;
      for (const at of awake) {
        const bin = packing.bins[at] as Bin;
        if (!bin.rows.includes(index)) continue;
        const times = mostOf(packing, bin, row, counts[index] as number);
        if (times === 0 || bin.price / times >= least) continue;
        least = bin.price / times;
        best = { pattern: { bin: at, rows: [index], times: [times] }, price: bin.price };
      }
      if (best === undefined) return undefined;
      basis.push(best);
    }
    return new Master(packing, rows, basis, counts);
  }

  /** What one more item of each row of the packing would cost. */
  get worth(): Float64Array {
    return this.#worth.slice();
  }

  get price(): number {
    let price = 0;
    for (let at = 0; at < this.#basis.length; at++)
      price += (this.#basis[at]?.price ?? 0) * (this.#amount[at] as number);
    return price;
  }

  /** Lets in whichever of the columns pay, until none does. False when none did. */
  improve(columns: readonly Column[], budget: Budget): boolean {
    let changed = false;
    const worth = this.#worth;
    const listed = new Listed(columns);
    for (let step = 0; step < columns.length * 3 && budget.units > 0; step++) {
      // What saves most for its price: by what it saves alone large bins would go first, and be replaced.
      const { at, most } = listed.best(worth, MARGIN);
      const best = columns[at];
      // A row that costs to serve less of: a surplus pays.
      const surplus =
        best === undefined ? this.#rows.findIndex((row) => (worth[row] as number) < -EPSILON) : -1;
      if (best === undefined && surplus < 0) return changed;
      budget.units -= (this.#rows.length * this.#rows.length) >> 2;
      const gain =
        best === undefined ? (worth[this.#rows[surplus] as number] as number) : -most * best.price;
      if (!this.#pivot(best, surplus, gain)) return changed;
      changed = true;
    }
    return changed;
  }

  mix(): Mix {
    const columns: { pattern: Pattern; bins: number }[] = [];
    this.#basis.forEach((column, at) => {
      const bins = this.#amount[at] as number;
      if (column === undefined || bins <= EPSILON) return;
      columns.push({ pattern: column.pattern, bins });
    });
    return { columns, worth: this.worth };
  }

  /** `gain`: what letting the column (or the surplus) in saves, negative. */
  #pivot(column: Column | undefined, surplus: number, gain: number): boolean {
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
      if ((direction[at] as number) <= EPSILON) continue;
      const ratio = (this.#amount[at] as number) / (direction[at] as number);
      if (ratio < step) {
        step = ratio;
        leaving = at;
      }
    }
    if (leaving < 0) return false;
    const pivoted = this.#inverse[leaving] as Float64Array;
    const by = direction[leaving] as number;
    // Most of it is zero for long.
    const [filled, rows] = [this.#filled, this.#rows];
    let count = 0;
    for (let to = 0; to < size; to++) {
      if (pivoted[to] === 0) continue;
      const line = (pivoted[to] as number) / by;
      pivoted[to] = line;
      const row = rows[to] as number;
      this.#worth[row] = (this.#worth[row] as number) + gain * line;
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

interface PackedByColumns {
  readonly uses: readonly Use[];
  readonly worth: Float64Array;
  readonly left: Float64Array;
}

/**
 * A whole packing by the mix, rounded down, again and again on what is left; undefined = no way. `awake`:
 * the bins that are weighed; those that turn out better join them.
 */
export function* packByColumns(
  packing: Packing,
  resourcePrice: Float64Array,
  budget: Budget,
  awake: number[],
  seeds: readonly Pattern[] = [],
): Steps<PackedByColumns | undefined> {
  const left = Float64Array.from(packing.rows, (row) => row.count);
  const uses: Use[] = [];
  let worth: Float64Array | undefined;
  while (left.some((count) => count > 0)) {
    const mix = yield* bestMix(
      packing,
      left,
      resourcePrice,
      budget,
      awake,
      worth === undefined ? seeds : [],
    );
    if (mix === undefined) return undefined;
    worth ??= mix.worth;
    let taken = false;
    for (const { pattern, bins } of mix.columns) {
      const whole = Math.floor(bins + 1e-7);
      if (whole === 0 || !covers(left, pattern, whole)) continue;
      take(left, pattern, whole);
      uses.push({ pattern, bins: whole });
      taken = true;
    }
    if (budget.units <= 0) break;
    if (taken) continue;
    const best = fullest(packing, mix, left);
    if (best === undefined) break;
    take(left, best, 1);
    uses.push({ pattern: best, bins: 1 });
  }
  return { uses, worth: worth ?? new Float64Array(packing.rows.length), left };
}

/** Of a mix of parts of bins: the one nearest to a whole, as far as it is still wanted. */
function fullest(packing: Packing, mix: Mix, left: Float64Array): Pattern | undefined {
  let best: Pattern | undefined;
  let most = 0;
  for (const { pattern, bins } of mix.columns) {
    const times = pattern.rows.map((row, at) =>
      Math.min(left[row] as number, pattern.times[at] as number),
    );
    const value = times.reduce(
      (sum, count, at) => sum + count * (mix.worth[pattern.rows[at] as number] as number),
      0,
    );
    const score = (value / (packing.bins[pattern.bin] as Bin).price) * (0.5 + bins);
    if (score > most) {
      const kept = pattern.rows
        .map((row, at) => ({ row, count: times[at] as number }))
        .filter(({ count }) => count > 0);
      most = score;
      best = {
        bin: pattern.bin,
        rows: kept.map(({ row }) => row),
        times: kept.map(({ count }) => count),
      };
    }
  }
  return best;
}

function covers(left: Float64Array, { rows, times }: Pattern, bins: number): boolean {
  return rows.every((row, at) => (left[row] as number) >= (times[at] as number) * bins);
}

function take(left: Float64Array, { rows, times }: Pattern, bins: number): void {
  rows.forEach((row, at) => {
    left[row] = (left[row] as number) - (times[at] as number) * bins;
  });
}
