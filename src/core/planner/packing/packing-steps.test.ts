// For each step of the packing: the smallest case that costs more, or is not packed at all, without that step.
import { expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import type { Heuristic } from "../heuristics.ts";
import { pack } from "./pack.ts";
import { type Packing, packingPrice } from "./packing.ts";
import { resourcePrices } from "./resource-prices.ts";

interface PackingCase {
  /**
   * For each row: the cpu and memory of one item, the amount that it takes of its host dimension, and the number of
   * items.
   */
  readonly rows: readonly (readonly [number, number, number, number])[];
  /** A bin of size n has n + 4 cpu and 2n + 6 memory, and costs n + 3. It holds one item of each host rule. */
  readonly sizes: readonly number[];
  readonly price: number;
  readonly priceWithout: number;
}

const CASES: readonly (readonly [Heuristic, PackingCase])[] = [
  [
    "evenPatterns",
    {
      rows: [
        [7, 10, 0, 5],
        [6, 17, 0, 1],
      ],
      sizes: [10, 20],
      price: 46,
      priceWithout: 49,
    },
  ],
  [
    "fillingOrders",
    {
      rows: [
        [3, 5, 0, 4],
        [10, 3, 0, 3],
      ],
      sizes: [10, 20],
      price: 46,
      priceWithout: 49,
    },
  ],
  [
    "branchAndBound",
    {
      rows: [
        [1, 6, 0, 4],
        [1, 4, 0, 7],
      ],
      sizes: [10],
      price: 26,
      priceWithout: 39,
    },
  ],
  [
    "dualPriceGreedy",
    {
      rows: [
        [4, 2, 0, 7],
        [1, 7, 0, 8],
      ],
      sizes: [10, 20],
      price: 39,
      priceWithout: 46,
    },
  ],
  [
    "reweightedGreedy",
    {
      rows: [
        [2, 8, 0, 4],
        [8, 24, 1, 4],
      ],
      sizes: [10, 20],
      price: 72,
      priceWithout: 75,
    },
  ],
  [
    "mergeBins",
    {
      rows: [
        [3, 2, 0, 1],
        [6, 2, 0, 2],
      ],
      sizes: [10, 20],
      price: 23,
      priceWithout: 26,
    },
  ],
  [
    "columns",
    {
      rows: [
        [1, 6, 0, 4],
        [1, 4, 0, 7],
      ],
      sizes: [10],
      price: 26,
      priceWithout: 39,
    },
  ],
];

function packingOf({ rows, sizes }: PackingCase): Packing {
  const hostDimensions = rows.some(([, , onHost]) => onHost > 0) ? 1 : 0;
  const dimensions = 2 + hostDimensions;
  return {
    rows: rows.map(([cpu, memory, onHost, count]) => ({
      amounts: Float64Array.of(cpu, memory, onHost).slice(0, dimensions),
      count,
    })),
    bins: sizes.map((size) => ({
      amounts: Float64Array.of(size + 4, 2 * size + 6, 1).slice(0, dimensions),
      price: size + 3,
      rows: [...rows.keys()],
    })),
    dimensions,
    hostDimensions,
  };
}

it.each(CASES)("%s makes a packing cheaper", (heuristic, one) => {
  const packing = packingOf(one);
  const prices = resourcePrices(
    packing,
    packing.rows.map(({ count }) => count),
  );
  const priceOf = (without: readonly Heuristic[]) => {
    const options = { without: new Set(without) };
    const solution = atOnce(pack(packing, prices, { units: 500_000 }, options));
    return solution === undefined ? undefined : packingPrice(packing, solution);
  };
  expect([priceOf([]), priceOf([heuristic])]).toEqual([one.price, one.priceWithout]);
});
