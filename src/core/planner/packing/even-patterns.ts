/**
 * Even patterns: each bin gets the share of every row (a set of equal items) that it would get if all bins were of its
 * kind. So cpu-heavy and memory-heavy items are used up at the same time. Greedy filling may use up one kind first,
 * and the other kind alone fills bins badly.
 */
import type { Steps } from "../../../base/steps.ts";
import { MOST_OVER_EVEN, PRICED_AGAIN_AT, WORK_PER_STEP } from "../settings.ts";
import { EvenFiller } from "./even-filler.ts";
import type { Bin, Packing, PatternUse, WorkBudget } from "./packing.ts";

/**
 * Packs all items into the kinds of bins in `among`. `counts`: the items of each row. Undefined: an item fits no bin,
 * the budget is spent, or the price is far above the lower bound.
 */
export function* packEvenly(
  packing: Packing,
  among: readonly number[],
  counts: readonly number[] | Float64Array,
  budget: WorkBudget,
): Steps<readonly PatternUse[] | undefined> {
  const left = Float64Array.from(counts);
  const filler = new EvenFiller(packing, left);
  const solution: PatternUse[] = [];
  let rest = left.reduce((sum, count) => sum + count, 0);
  let pricedAt = rest;
  let ratios = yield* filler.price(among);
  const least = filler.leastCost;
  let [paid, spent] = [0, 0];
  while (rest > 0) {
    if (rest <= pricedAt * PRICED_AGAIN_AT) {
      pricedAt = rest;
      ratios = yield* filler.price(among);
      // Later bins rarely hold more for their price than the first ones, so the price would stay far above the bound.
      if (paid > (least - filler.leastCost) * MOST_OVER_EVEN) return undefined;
    }
    const found = bestFilling(filler, among, ratios);
    budget.units -= filler.work;
    spent += filler.work;
    filler.work = 0;
    if (found === undefined || budget.units <= 0) return undefined;
    const { pattern, bins } = found;
    pattern.rows.forEach((row, at) => {
      const packed = bins * (pattern.times[at] as number);
      left[row] = (left[row] as number) - packed;
      rest -= packed;
    });
    paid += bins * (packing.bins[pattern.bin] as Bin).price;
    solution.push(found);
    if (spent < WORK_PER_STEP) continue;
    yield;
    spent = 0;
  }
  return solution;
}

/**
 * The content of the kind of bin that is worth most for its price now. `ratios`: value over price of each kind when it
 * was filled last. A ratio seldom rises, so only the kind with the highest one is filled again. Undefined: no bin holds
 * any item.
 */
function bestFilling(
  filler: EvenFiller,
  among: readonly number[],
  ratios: Float64Array,
): PatternUse | undefined {
  const upToDate = new Set<number>();
  for (;;) {
    let ahead = -1;
    let most = 0;
    for (let at = 0; at < among.length; at++) {
      if ((ratios[at] as number) <= most) continue;
      most = ratios[at] as number;
      ahead = at;
    }
    filler.work += among.length;
    if (ahead < 0) return undefined;
    const bin = among[ahead] as number;
    const isUpToDate = upToDate.has(ahead);
    // The filler still holds the content of the kind that was filled last.
    if (!isUpToDate || filler.bin !== bin) ratios[ahead] = filler.fill(bin);
    if (isUpToDate) return filler.content();
    upToDate.add(ahead);
  }
}
