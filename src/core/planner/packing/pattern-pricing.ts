/**
 * The pricing step of column generation: finds patterns (contents of one bin) that are worth more than their bin at the
 * dual prices. Greedy filling in four orders is tried first, then branch and bound.
 */
import { uses, type WithoutHeuristics } from "../heuristics.ts";
import { BRANCH_AND_BOUND_STEPS, PATTERNS_PER_ROUND } from "../settings.ts";
import { BinFiller } from "./bin-filler.ts";
import { BranchAndBound } from "./branch-and-bound.ts";
import type { PatternColumn } from "./column-list.ts";
import { ENTRY_MARGIN, ZERO } from "./linear-program.ts";
import {
  type Bin,
  dot,
  type Packing,
  type Pattern,
  type Row,
  totalAmounts,
  type WorkBudget,
} from "./packing.ts";
import { largestKeyFirst } from "./row-orders.ts";

/** The input of column generation. */
export interface ColumnTask extends WithoutHeuristics {
  readonly packing: Packing;
  readonly resourcePrices: Float64Array;
  /** Indices of the kinds of bins that are priced in every round. Kinds that prove better are added. */
  readonly bins: number[];
  /** Patterns that the linear program starts with. */
  readonly seeds?: readonly Pattern[];
}

export class PatternPricing {
  readonly #task: ColumnTask;
  readonly #counts: ArrayLike<number>;
  readonly #budget: WorkBudget;
  readonly #orders: PricingOrders;
  readonly #filler: BinFiller;

  /** `rows`: the rows that still have items. `counts`: how many items each row has. */
  constructor(
    task: ColumnTask,
    rows: readonly number[],
    counts: ArrayLike<number>,
    budget: WorkBudget,
  ) {
    this.#task = task;
    this.#counts = counts;
    this.#budget = budget;
    this.#orders = new PricingOrders(task.packing, rows, task.resourcePrices);
    this.#filler = BinFiller.of(task.packing);
  }

  /** For each kind of bin, its best greedy pattern if it is worth more than the bin. `PATTERNS_PER_ROUND` at most. */
  greedily(bins: readonly number[], dualPrices: Float64Array): PatternColumn[] {
    const { packing } = this.#task;
    const found: Found[] = [];
    const lists = this.#orders.by(dualPrices);
    for (const index of bins) {
      const bin = packing.bins[index] as Bin;
      const allowed = bin.rows.length === packing.rows.length ? undefined : new Set(bin.rows);
      let pattern: Pattern | undefined;
      let most = bin.price * (1 + ENTRY_MARGIN);
      for (const list of lists) {
        const order = allowed === undefined ? list : list.filter((row) => allowed.has(row));
        this.#budget.units -= order.length;
        const value = this.#filler.fill(bin, order, this.#counts, dualPrices);
        if (value <= most) continue;
        most = value;
        pattern = this.#filler.content(index);
      }
      if (pattern !== undefined)
        found.push({ column: { pattern, price: bin.price }, ratio: most / bin.price });
    }
    return bestOf(found);
  }

  /** Like {@link greedily}, but searches by branch and bound. */
  bySearch(bins: readonly number[], dualPrices: Float64Array): PatternColumn[] {
    const { packing, resourcePrices } = this.#task;
    if (!uses(this.#task, "branchAndBound")) return [];
    const found: Found[] = [];
    for (const index of bins) {
      if (this.#budget.units <= 0) break;
      const bin = packing.bins[index] as Bin;
      const search = new BranchAndBound(packing, bin, this.#counts, dualPrices, resourcePrices);
      const pattern = search.best(bin.price * (1 + ENTRY_MARGIN), BRANCH_AND_BOUND_STEPS);
      this.#budget.units -= search.steps * packing.dimensions;
      if (pattern === undefined) continue;
      found.push({
        column: { pattern: { bin: index, ...pattern }, price: bin.price },
        ratio: search.value / bin.price,
      });
    }
    return bestOf(found);
  }
}

interface Found {
  readonly column: PatternColumn;
  /** The value of the content over the price of the bin. */
  readonly ratio: number;
}

function bestOf(found: Found[]): PatternColumn[] {
  found.sort((a, b) => b.ratio - a.ratio || a.column.pattern.bin - b.column.pattern.bin);
  return found.slice(0, PATTERNS_PER_ROUND).map(({ column }) => column);
}

/** Four orders of the rows, by dual price over: the cost of their resources, cpu, memory, cpu and memory together. */
class PricingOrders {
  /** For each order and each row: the number by which the row's dual price is divided. */
  readonly #divisors: readonly Float64Array[];
  /** The last result of each order. It is nearly sorted for the next dual prices, so sorting it again is fast. */
  readonly #last: readonly number[][];
  readonly #keys: Float64Array;

  constructor(packing: Packing, rows: readonly number[], resourcePrices: Float64Array) {
    this.#keys = new Float64Array(packing.rows.length);
    const counts = packing.rows.map(({ count }) => count);
    const totals = totalAmounts(packing, counts);
    const share = (d: number, row: number) =>
      (totals[d] as number) === 0
        ? 0
        : ((packing.rows[row] as Row).amounts[d] as number) / (totals[d] as number);
    // A tiny number is added to avoid a division by zero.
    const divisors = (of: (row: number) => number) =>
      Float64Array.from(packing.rows, (_, row) => of(row) + 1e-15);
    this.#divisors = [
      divisors((row) => dot((packing.rows[row] as Row).amounts, resourcePrices)),
      divisors((row) => share(0, row)),
      divisors((row) => share(1, row)),
      divisors((row) => share(0, row) + share(1, row)),
    ];
    this.#last = this.#divisors.map(() => [...rows]);
  }

  /** The rows in four orders. Rows whose dual price is zero or less are left out. */
  by(dualPrices: Float64Array): number[][] {
    const keys = this.#keys;
    return this.#divisors.map((divisors, index) => {
      const rows = this.#last[index] as number[];
      for (let at = 0; at < rows.length; at++) {
        const row = rows[at] as number;
        keys[row] = (dualPrices[row] as number) / (divisors[row] as number);
      }
      return largestKeyFirst(rows, keys).filter((row) => (dualPrices[row] as number) > ZERO);
    });
  }
}
