/**
 * Column generation (Gilmore and Gomory, 1961). A row is a set of equal items, a pattern is the content of one bin. A
 * linear program finds the cheapest mix of patterns that packs every item; the mix may use fractions of bins. It starts
 * with few patterns. The dual price of a row says what one more of its items would cost. A pattern whose content is
 * worth more than its bin at these prices joins the program. The mix, rounded down, is most of a packing; the items
 * that are left are packed in the same way.
 */
import type { Steps } from "../../../base/steps.ts";
import {
  BINS_JOINING,
  LEAST_GAIN_OF_ROUNDS,
  MOST_JOINS,
  ROUNDS_WITHOUT_GAIN,
} from "../settings.ts";
import type { PatternColumn } from "./column-list.ts";
import { LinearProgram, type PatternMix } from "./linear-program.ts";
import type { Bin, Packing, Pattern, PatternUse, WorkBudget } from "./packing.ts";
import { type ColumnTask, PatternPricing } from "./pattern-pricing.ts";

/**
 * The cheapest mix found within the budget. Adds useful kinds of bins to `task.bins`. Undefined: some item fits no bin.
 */
export function* bestMix(
  task: ColumnTask,
  counts: ArrayLike<number>,
  budget: WorkBudget,
): Steps<PatternMix | undefined> {
  const { packing, bins, seeds = [] } = task;
  const rows = [...packing.rows.keys()].filter((index) => (counts[index] as number) > 0);
  const program = LinearProgram.start(packing, bins, rows, counts);
  if (program === undefined) return undefined;
  const pricing = new PatternPricing(task, rows, counts, budget);
  if (seeds.length > 0)
    program.improve(
      seeds.map((pattern): PatternColumn => ({ pattern, price: priceOfBin(packing, pattern) })),
      budget,
    );
  let [rounds, before, joins] = [0, program.price, 0];
  while (budget.units > 0) {
    yield;
    const { dualPrices } = program;
    let found: readonly PatternColumn[] = [];
    const isGaining =
      ++rounds % ROUNDS_WITHOUT_GAIN !== 0 || program.price <= before * (1 - LEAST_GAIN_OF_ROUNDS);
    if (rounds % ROUNDS_WITHOUT_GAIN === 0) before = program.price;
    if (isGaining) {
      found = pricing.greedily(bins, dualPrices);
      if (found.length === 0) found = pricing.bySearch(bins, dualPrices);
    }
    if (found.length === 0 && joins++ < MOST_JOINS) {
      const known = new Set(bins);
      const others = [...packing.bins.keys()].filter((bin) => !known.has(bin));
      found = pricing.greedily(others, dualPrices).slice(0, BINS_JOINING);
      bins.push(...found.map(({ pattern }) => pattern.bin));
    }
    if (found.length === 0 || !program.improve(found, budget)) break;
  }
  return program.mix();
}

function priceOfBin({ bins }: Packing, { bin }: Pattern): number {
  return (bins[bin] as Bin).price;
}

/** The result of column generation. */
export interface PackedByColumns {
  readonly solution: readonly PatternUse[];
  /** The dual prices of the first mix, which packs all items. */
  readonly dualPrices: Float64Array;
  /** For each row: the number of items that are not packed. */
  readonly left: Float64Array;
}

/** Rounds the mix down, then makes a mix of the items that are left, and so on. Undefined: some item fits no bin. */
export function* packByColumns(
  task: ColumnTask,
  budget: WorkBudget,
): Steps<PackedByColumns | undefined> {
  const { packing } = task;
  const left = Float64Array.from(packing.rows, (row) => row.count);
  const solution: PatternUse[] = [];
  let dualPrices: Float64Array | undefined;
  while (left.some((count) => count > 0)) {
    const mix = yield* bestMix(
      dualPrices === undefined ? task : { ...task, seeds: [] },
      left,
      budget,
    );
    if (mix === undefined) return undefined;
    dualPrices ??= mix.dualPrices;
    let hasWholeBins = false;
    for (const { pattern, bins } of mix.columns) {
      const whole = Math.floor(bins + 1e-7);
      if (whole === 0 || !isEnough(left, pattern, whole)) continue;
      takeItems(left, pattern, whole);
      solution.push({ pattern, bins: whole });
      hasWholeBins = true;
    }
    if (!hasWholeBins || budget.units <= 0) break;
  }
  return { solution, dualPrices: dualPrices ?? new Float64Array(packing.rows.length), left };
}

/** Whether the items that are left are enough to fill this number of bins by the pattern. */
function isEnough(left: Float64Array, { rows, times }: Pattern, bins: number): boolean {
  return rows.every((row, at) => (left[row] as number) >= (times[at] as number) * bins);
}

function takeItems(left: Float64Array, { rows, times }: Pattern, bins: number): void {
  rows.forEach((row, at) => {
    left[row] = (left[row] as number) - (times[at] as number) * bins;
  });
}
