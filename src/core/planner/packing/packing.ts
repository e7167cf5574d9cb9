/**
 * The packing problem, without Kubernetes: items of several kinds go into bins of several kinds, and the bins must cost
 * as little as possible. A pod is an item, a node is a bin, an instance type is a kind of bin. Each resource is a
 * dimension. A rule that limits pods on one host may be a dimension, too: each item under the rule takes 1 of it, and a
 * bin has as much as the rule allows.
 */

/** Equal items: one row of the linear program. */
export interface Row {
  /** How much one item takes of each dimension. */
  readonly amounts: Float64Array;
  readonly count: number;
  /** The most items of the row in one bin. Absent: there is no such limit. */
  readonly perBin?: number | undefined;
}

/** One kind of bin. A packing may use any number of bins of a kind. */
export interface Bin {
  /** How much one bin has of each dimension. */
  readonly amounts: Float64Array;
  readonly price: number;
  /** Indices of the rows whose items such a bin may hold. Kinds of bins with equal lists share one array. */
  readonly rows: readonly number[];
}

export interface Packing {
  readonly rows: readonly Row[];
  readonly bins: readonly Bin[];
  readonly dimensions: number;
  /** How many of the last dimensions stand for host rules. Absent: 0. */
  readonly hostDimensions?: number;
}

/** The content of one bin: `times[i]` items of row `rows[i]`. */
export interface Pattern {
  /** Index of the kind of bin. */
  readonly bin: number;
  readonly rows: readonly number[];
  readonly times: readonly number[];
}

/** A number of bins that are filled by the same pattern. A list of them is a solution. */
export interface PatternUse {
  readonly pattern: Pattern;
  readonly bins: number;
}

/** The number of steps of work that are left. Each search subtracts the steps that it takes. */
export interface WorkBudget {
  units: number;
}

/** Whether `free` has at least `amounts` in every dimension. */
export function holds(free: Float64Array, amounts: Float64Array): boolean {
  for (let d = 0; d < free.length; d++)
    if ((free[d] as number) < (amounts[d] as number)) return false;
  return true;
}

/**
 * The kinds of bins, the cheapest first, without each kind that another kind makes useless: it has at least as much of
 * everything and costs no more. Of kinds with an equal price and first amount, the first one given comes first.
 */
export function withoutDominated<B extends Bin>(bins: readonly B[]): B[] {
  const kept: B[] = [];
  const most = new Float64Array(bins[0]?.amounts.length ?? 0);
  for (const bin of bins.toSorted((a, b) => a.price - b.price || firstAmount(b) - firstAmount(a))) {
    // A kind with more of some resource than every cheaper kind must be kept.
    if (holds(most, bin.amounts) && kept.some(({ amounts }) => holds(amounts, bin.amounts)))
      continue;
    kept.push(bin);
    for (let d = 0; d < most.length; d++)
      most[d] = Math.max(most[d] as number, bin.amounts[d] as number);
  }
  return kept;
}

function firstAmount({ amounts }: Bin): number {
  return amounts[0] as number;
}

/** How many of `count` items of a row fit into one empty bin. */
export function mostInBin(bin: Bin, row: Row, count: number): number {
  return mostWithin(bin.amounts, row.amounts, Math.min(count, row.perBin ?? count));
}

/** How many of `count` items with these amounts fit into the free amounts of a bin. */
export function mostWithin(free: Float64Array, amounts: Float64Array, count: number): number {
  let most = count;
  for (let d = 0; d < amounts.length && most > 0; d++) {
    const amount = amounts[d] as number;
    if (amount > 0) most = Math.min(most, Math.floor((free[d] as number) / amount));
  }
  return most;
}

/** Adds the amounts to `sum` this many times. A negative number subtracts them. */
export function addTimes(sum: Float64Array, amounts: Float64Array, times: number): void {
  for (let d = 0; d < sum.length; d++) sum[d] = (sum[d] as number) + (amounts[d] as number) * times;
}

/** The amounts of all items together. `counts`: the number of items of each row. */
export function totalAmounts(packing: Packing, counts: ArrayLike<number>): Float64Array {
  const sum = new Float64Array(packing.dimensions);
  packing.rows.forEach(({ amounts }, row) => {
    addTimes(sum, amounts, counts[row] as number);
  });
  return sum;
}

/** The price of all bins of a solution. */
export function packingPrice(packing: Packing, uses: readonly PatternUse[]): number {
  return uses.reduce(
    (sum, use) => sum + (packing.bins[use.pattern.bin] as Bin).price * use.bins,
    0,
  );
}

/** The value of these amounts: the sum over dimensions of amount × price. */
export function dot(amounts: Float64Array, prices: Float64Array): number {
  let sum = 0;
  for (let d = 0; d < amounts.length; d++) sum += (amounts[d] as number) * (prices[d] as number);
  return sum;
}
