/**
 * Reweighted greedy: greedy filling is repeated, with higher values for items whose last bins held little value for
 * their price. Such items are then packed earlier, into better bins. Pods under host rules need many small bins. For
 * them, a few rounds find as much as column generation in a fraction of its time.
 */
import type { Steps } from "../../../base/steps.ts";
import { REWEIGHTED_ROUNDS, ROUNDS_PER_SHAPE } from "../settings.ts";
import { type GreedyTask, packByGreed } from "./greedy-patterns.ts";
import type { Bin, Packing, Pattern, PatternUse, WorkBudget } from "./packing.ts";
import { byKeys, ratioOrders } from "./row-orders.ts";

/**
 * The solutions of all rounds, until the budget is spent. `start` sets the first weights. A round by value uses only
 * the kinds of bins of `known` solutions, to save time. A round by shape (ratio of cpu and memory) uses all kinds.
 */
export function* reweightedGreedy(
  task: Omit<GreedyTask, "refilled">,
  known: readonly (readonly PatternUse[])[],
  start: readonly PatternUse[],
  budget: WorkBudget,
): Steps<readonly (readonly PatternUse[])[]> {
  const { packing, bins } = task;
  const used = new Set(known.flatMap((solution) => solution.map(({ pattern }) => pattern.bin)));
  const usedBins = bins.filter((bin) => used.has(bin));
  const shapes = ratioOrders(packing);
  const values = task.values.slice();
  const found: (readonly PatternUse[])[] = [];
  let last = start;
  for (let round = 0; round < REWEIGHTED_ROUNDS && budget.units > 0; round++) {
    yield;
    reweight(packing, last, values);
    const isByShape = round % ROUNDS_PER_SHAPE === ROUNDS_PER_SHAPE - 1;
    const shape = isByShape ? shapes[round % 2] : undefined;
    const [order, among] = shape === undefined ? [byKeys(values), usedBins] : [shape, bins];
    const own: GreedyTask = { ...task, bins: among, values, refilled: "ahead" };
    const solution = yield* packByGreed(own, order, budget);
    if (solution === undefined) continue;
    found.push(solution);
    last = solution;
  }
  return found;
}

/** Raises the values of rows whose bins hold less value for their price than the average, and lowers the others. */
function reweight(
  { rows, bins }: Packing,
  solution: readonly PatternUse[],
  values: Float64Array,
): void {
  const items = new Int32Array(rows.length);
  const ratios = new Float64Array(rows.length);
  let [value, price] = [0, 0];
  for (const use of solution) {
    const binPrice = (bins[use.pattern.bin] as Bin).price;
    const inOne = contentValue(use.pattern, values);
    value += inOne * use.bins;
    price += binPrice * use.bins;
    addItems(use, inOne / binPrice, items, ratios);
  }
  for (let row = 0; row < rows.length; row++) {
    const own = ratios[row] as number;
    if (own > 0)
      values[row] =
        (values[row] as number) * damped(((value / price) * (items[row] as number)) / own);
  }
}

/**
 * The factor to the power of 3/8. Square roots are exact; the last digit of `Math.pow` differs between versions of V8.
 */
function damped(factor: number): number {
  return Math.sqrt(Math.sqrt(factor * Math.sqrt(factor)));
}

function contentValue({ rows, times }: Pattern, values: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < rows.length; at++)
    sum += (values[rows[at] as number] as number) * (times[at] as number);
  return sum;
}

/** Adds the items of these bins to `items`, and each item's ratio (value of its bin over price) to `ratios`. */
function addItems(
  { pattern, bins }: PatternUse,
  ratio: number,
  items: Int32Array,
  ratios: Float64Array,
): void {
  const { rows, times } = pattern;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as number;
    const count = (times[at] as number) * bins;
    items[row] = (items[row] as number) + count;
    ratios[row] = (ratios[row] as number) + count * ratio;
  }
}
