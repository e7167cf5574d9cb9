/**
 * Patterns that are alike: each bin gets of every row the share that it would have if all bins were of its kind, so
 * that what asks for much of one thing and what asks for much of another run out together. Where a packing by greed
 * fills some bins with large items of one shape, and is left with the other, this one has no such rest; and it needs
 * no search.
 */
import type { Steps } from "../../../base/steps.ts";
import {
  type Bin,
  type Budget,
  holds,
  type Packing,
  type Pattern,
  type Row,
  type Use,
} from "./packing.ts";
import { resourcePrices } from "./resource-prices.ts";

/** Units of work before others get a turn: some milliseconds. */
const WORK_PER_STEP = 200_000;
/** What one row is when a bin is filled: counted, shared out, topped up. */
const WORK_PER_ROW = 3;
/** A pattern is used for this share of the bins that would take all, then shares are reckoned anew. */
const SHARE_OF_BINS = 8;
/** Resources are priced anew when so much of the items is gone: what is left may ask for other things. */
const PRICED_ANEW = 0.95;
/** Items that cost more than this times their least are of the kind that shares are not good for: others do better. */
const MOST_OVER = 1.25;

/**
 * Takes all items into these bins; undefined when something fits in none, the budget is spent, or it comes to
 * much more than items cost at the least. Takes a while.
 */
export function* packEvenly(
  packing: Packing,
  among: readonly number[],
  counts: ArrayLike<number>,
  budget: Budget,
): Steps<readonly Use[] | undefined> {
  const left = Float64Array.from(counts);
  const share = new EvenShare(packing, left);
  const uses: Use[] = [];
  let rest = left.reduce((sum, count) => sum + count, 0);
  let pricedAt = rest;
  let ratios = yield* share.price(among);
  const least = share.leastCost;
  let [paid, spent] = [0, 0];
  while (rest > 0) {
    if (rest <= pricedAt * PRICED_ANEW) {
      pricedAt = rest;
      ratios = yield* share.price(among);
      // The last bins are seldom better than the first ones.
      if (paid > (least - share.leastCost) * MOST_OVER) return undefined;
    }
    const found = fullest(share, among, ratios);
    budget.units -= share.work;
    spent += share.work;
    share.work = 0;
    if (found === undefined || budget.units <= 0) return undefined;
    const { pattern, bins } = found;
    pattern.rows.forEach((row, at) => {
      const gone = bins * (pattern.times[at] as number);
      left[row] = (left[row] as number) - gone;
      rest -= gone;
    });
    paid += bins * (packing.bins[pattern.bin] as Bin).price;
    uses.push(found);
    if (spent < WORK_PER_STEP) continue;
    yield;
    spent = 0;
  }
  return uses;
}

/**
 * The bin that holds most worth for its price. `ratios`: what each held last; it is rarely more by now, so
 * that only those are filled anew that are ahead.
 */
function fullest(
  share: EvenShare,
  among: readonly number[],
  ratios: Float64Array,
): Use | undefined {
  const fresh = new Set<number>();
  for (;;) {
    let ahead = -1;
    let most = 0;
    for (let at = 0; at < among.length; at++) {
      if ((ratios[at] as number) <= most) continue;
      most = ratios[at] as number;
      ahead = at;
    }
    share.work += among.length;
    if (ahead < 0) return undefined;
    const bin = among[ahead] as number;
    const isFresh = fresh.has(ahead);
    // The one that was filled last is full still.
    if (!isFresh || share.bin !== bin) ratios[ahead] = share.fill(bin);
    if (isFresh) return share.content();
    fresh.add(ahead);
  }
}

/** A bin that is filled again and again with its share of what is left. */
class EvenShare {
  /** Counted as steps of a search are. */
  work = 0;
  /** The one that was filled last. */
  bin = -1;
  /** What all that is left costs at least. */
  leastCost = 0;
  readonly #packing: Packing;
  readonly #left: Float64Array;
  /** All rows by shape: shares are rounded in this order, so that what one row lacks its neighbour makes up for. */
  readonly #byShape: readonly number[];
  #byWorth: readonly number[] = [];
  readonly #worth: Float64Array;
  readonly #times: Float64Array;
  readonly #free: Float64Array;
  readonly #isWelcome: Uint8Array;
  readonly #welcome = new Map<readonly number[], ReadonlySet<number>>();
  /** How many such bins all that may go in would fill. */
  #wanted = 1;

  constructor(packing: Packing, left: Float64Array) {
    this.#packing = packing;
    this.#left = left;
    const shape = ({ amounts }: Row) => (amounts[0] as number) / ((amounts[1] as number) + 1);
    this.#byShape = [...packing.rows.keys()].sort(
      (a, b) => shape(packing.rows[a] as Row) - shape(packing.rows[b] as Row) || a - b,
    );
    this.#worth = new Float64Array(packing.rows.length);
    this.#times = new Float64Array(packing.rows.length);
    this.#isWelcome = new Uint8Array(packing.rows.length);
    this.#free = new Float64Array(packing.dimensions);
  }

  /** Worth by what resources cost those that are left; and the first ratio of each bin. */
  *price(among: readonly number[]): Steps<Float64Array> {
    const { rows, bins } = this.#packing;
    const { prices, leastCost } = resourcePrices(this.#packing, this.#left);
    this.leastCost = leastCost;
    rows.forEach(({ amounts }, row) => {
      this.#worth[row] = dot(amounts, prices);
    });
    this.#byWorth = this.#byShape.toSorted(
      (a, b) => (this.#worth[b] as number) - (this.#worth[a] as number) || a - b,
    );
    this.work += bins.length + rows.length;
    const ratios = new Float64Array(among.length);
    let spent = 0;
    for (const [at, bin] of among.entries()) {
      ratios[at] = this.fill(bin);
      spent += WORK_PER_ROW * rows.length;
      if (spent < WORK_PER_STEP) continue;
      yield;
      spent = 0;
    }
    return ratios;
  }

  /** Its worth for its price. */
  fill(index: number): number {
    const { rows, bins } = this.#packing;
    const bin = bins[index] as Bin;
    const mayGo = this.#mayGo(bin);
    this.bin = index;
    this.#free.set(bin.amounts);
    this.#times.fill(0);
    this.#wanted = this.#binsOf(bin, mayGo);
    let value = 0;
    // Half an item is rounded up.
    let owed = 0.5;
    for (const row of mayGo) {
      owed += (this.#left[row] as number) / this.#wanted;
      const whole = Math.floor(owed);
      owed -= whole;
      value += this.#put(row, whole);
    }
    for (const row of this.#byWorth)
      if (this.#isWelcome[row] === 1) value += this.#put(row, this.#left[row] as number);
    this.work += WORK_PER_ROW * rows.length;
    // What costs nothing may be worth nothing, too.
    return value > 0 ? value / bin.price : 0;
  }

  /** What it was filled with last, and in how many bins. */
  content(): Use {
    const rows = this.#byShape.filter((row) => (this.#times[row] as number) > 0);
    const times = rows.map((row) => this.#times[row] as number);
    let bins = Math.max(1, Math.floor(this.#wanted / SHARE_OF_BINS));
    rows.forEach((row, at) => {
      bins = Math.min(bins, Math.floor((this.#left[row] as number) / (times[at] as number)));
    });
    const pattern: Pattern = { bin: this.bin, rows, times };
    return { pattern, bins };
  }

  /** Rows with items left that fit, by shape; noted in `#isWelcome` too. */
  #mayGo({ rows, amounts }: Bin): readonly number[] {
    const welcome = this.#welcome.get(rows) ?? new Set(rows);
    this.#welcome.set(rows, welcome);
    this.#isWelcome.fill(0);
    return this.#byShape.filter((row) => {
      const is =
        (this.#left[row] as number) > 0 &&
        welcome.has(row) &&
        holds(amounts, (this.#packing.rows[row] as Row).amounts);
      if (is) this.#isWelcome[row] = 1;
      return is;
    });
  }

  #binsOf({ amounts: size }: Bin, mayGo: readonly number[]): number {
    const wanted = new Float64Array(size.length);
    for (const row of mayGo) {
      const { amounts } = this.#packing.rows[row] as Row;
      for (let d = 0; d < size.length; d++)
        wanted[d] = (wanted[d] as number) + (amounts[d] as number) * (this.#left[row] as number);
    }
    let bins = 1;
    for (let d = 0; d < size.length; d++)
      if ((wanted[d] as number) > 0)
        bins = Math.max(bins, (wanted[d] as number) / (size[d] as number));
    return bins;
  }

  /** So many more of the row, or as many as there are and go in. */
  #put(row: number, most: number): number {
    const { amounts, perBin = Number.POSITIVE_INFINITY } = this.#packing.rows[row] as Row;
    const known = this.#times[row] as number;
    let times = Math.min(most, (this.#left[row] as number) - known, perBin - known);
    for (let d = 0; d < amounts.length && times > 0; d++) {
      const amount = amounts[d] as number;
      if (amount > 0) times = Math.min(times, Math.floor((this.#free[d] as number) / amount));
    }
    if (times <= 0) return 0;
    for (let d = 0; d < amounts.length; d++)
      this.#free[d] = (this.#free[d] as number) - times * (amounts[d] as number);
    this.#times[row] = known + times;
    return times * (this.#worth[row] as number);
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let d = 0; d < a.length; d++) sum += (a[d] as number) * (b[d] as number);
  return sum;
}
