import { expect, it } from "vitest";
import { Random } from "../../../base/random.ts";
import { resourcePrices } from "./resource-prices.ts";

const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, one, at) => sum + one * (b[at] as number), 0);

/** Solves a square system of equations by elimination. Undefined: it has no single solution. */
function solved(lines: readonly (readonly number[])[]): number[] | undefined {
  const left = lines.map((line) => [...line]);
  const size = left.length;
  for (let column = 0; column < size; column++) {
    const rest = left.slice(column);
    const pivot = rest.reduce((a, b) =>
      Math.abs(a[column] as number) >= Math.abs(b[column] as number) ? a : b,
    );
    const by = pivot[column] as number;
    if (Math.abs(by) < 1e-9) return undefined;
    left.splice(left.indexOf(pivot), 1);
    left.splice(
      column,
      0,
      pivot.map((one) => one / by),
    );
    const unit = left[column] as number[];
    left.forEach((line, at) => {
      const factor = line[column] as number;
      if (at !== column) left[at] = line.map((one, to) => one - factor * (unit[to] as number));
    });
  }
  return left.map((line) => line[size] as number);
}

function choices(of: number, from: number): number[][] {
  if (of === 0) return [[]];
  return Array.from({ length: Math.max(0, from) }, (_, last) =>
    choices(of - 1, last).map((some) => [...some, last]),
  ).flat();
}

/** The optimum of a program, found by trying every corner: as many limits and axes as variables meet there. */
function bestCorner(
  objective: readonly number[],
  rows: readonly (readonly number[])[],
  limits: readonly number[],
): number {
  const size = objective.length;
  const axes = objective.map((_, d) => [...objective.map((__, at) => (at === d ? 1 : 0)), 0]);
  const lines = [...rows.map((row, at) => [...row, limits[at] as number]), ...axes];
  let best = 0;
  for (const some of choices(size, lines.length)) {
    const corner = solved(some.map((at) => lines[at] as number[]));
    if (corner === undefined || corner.some((one) => one < -1e-9)) continue;
    const isWithin = rows.every((row, at) => dot(row, corner) <= (limits[at] as number) + 1e-9);
    if (isWithin) best = Math.max(best, dot(objective, corner));
  }
  return best;
}

/** The prices of the resources. `wanted`: what the items need of each. `bins`: what each kind of bin has of them. */
function pricesOf(
  wanted: readonly number[],
  bins: readonly (readonly number[])[],
  prices: readonly number[],
) {
  const packing = {
    dimensions: wanted.length,
    rows: [{ amounts: Float64Array.from(wanted), count: 1 }],
    bins: bins.map((amounts, at) => ({
      amounts: Float64Array.from(amounts),
      price: prices[at] as number,
      rows: [0],
    })),
  };
  return resourcePrices(packing, [1]);
}

it("finds the highest prices at which no bin's content is worth more than the bin", () => {
  const random = new Random("simplex");
  for (let round = 0; round < 300; round++) {
    const size = 1 + random.int(6);
    const numbers = (count: number) => Array.from({ length: count }, () => random.int(6));
    const count = random.int(4);
    // The last bin has all resources, so each resource has a highest price.
    const all = Array.from({ length: size }, () => 1 + random.int(6));
    const bins = [...Array.from({ length: count }, () => numbers(size)), all];
    const binPrices = [...numbers(count), 1 + random.int(9)];
    const wanted = numbers(size);
    const { prices, leastCost } = pricesOf(wanted, bins, binPrices);
    const over = bins.filter((bin, at) => dot(bin, [...prices]) > (binPrices[at] as number) + 1e-5);
    expect(over, `round ${round}`).toEqual([]);
    expect(Math.min(...prices)).toBeGreaterThanOrEqual(0);
    expect(leastCost).toBeCloseTo(dot(wanted, [...prices]), 6);
    expect(leastCost, `round ${round}`).toBeCloseTo(bestCorner(wanted, bins, binPrices), 4);
  }
});

it("is never more than the price of bins that hold all items", () => {
  const random = new Random("bound");
  for (let round = 0; round < 2_000; round++) {
    const size = 1 + random.int(8);
    const bins = Array.from({ length: 1 + random.int(3) }, () =>
      Array.from({ length: size }, () => random.int(1_000)),
    );
    const binPrices = bins.map(() => 1 + random.int(1_000));
    const used = bins.map(() => random.int(4));
    const wanted = Array.from({ length: size }, (_, d) =>
      bins.reduce((sum, bin, at) => sum + (bin[d] as number) * (used[at] as number), 0),
    );
    const { leastCost } = pricesOf(wanted, bins, binPrices);
    expect(leastCost, `round ${round}`).toBeLessThanOrEqual(dot(used, binPrices) + 1e-6);
  }
});

it("prices nothing if no bin has a resource that the items need", () => {
  expect(pricesOf([1, 1], [[1, 0]], [5])).toEqual({ prices: Float64Array.of(0, 0), leastCost: 0 });
});
