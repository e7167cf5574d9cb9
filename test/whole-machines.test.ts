/**
 * The bench's least price of whole machines for a few pods, compared with a brute-force search over every division
 * of the pods.
 */
import { describe, expect, it } from "vitest";
import { wholeMachines } from "../bench/whole-machines.ts";
import { Random } from "../src/base/random.ts";
import type { Bin, Packing } from "../src/core/planner/packing/packing.ts";

describe("the lowest price for whole instances", () => {
  it("is the price of the cheapest division of the pods over instances", () => {
    const random = new Random("whole machines");
    for (let round = 0; round < 60; round++) {
      const packing = drawn(random);
      expect(wholeMachines(packing)).toBe(byEveryDivision(packing));
    }
  });

  it("includes a whole instance for the last pod, where a fraction would cost less", () => {
    const bins = [bin(2, 3), bin(8, 8)];
    const rows = [{ amounts: Float64Array.of(3), count: 3 }];
    // Two pods on one large machine and one on another: 16. In fractions, 9 of 8 cores would cost less.
    expect(wholeMachines({ rows, bins, dimensions: 1 })).toBe(16);
  });

  it("is undefined for a pod that fits nowhere, and for pods with too many divisions", () => {
    const bins = [bin(4, 1)];
    expect(
      wholeMachines({ rows: [{ amounts: Float64Array.of(5), count: 1 }], bins, dimensions: 1 }),
    ).toBe(undefined);
    expect(
      wholeMachines({ rows: [{ amounts: Float64Array.of(1), count: 5_000 }], bins, dimensions: 1 }),
    ).toBe(undefined);
  });
});

function bin(cores: number, price: number): Bin {
  return { amounts: Float64Array.of(cores), price, rows: [0] };
}

function drawn(random: Random): Packing {
  const some = (most: number) => 1 + random.int(most);
  const rows = Array.from({ length: some(3) }, () => ({
    amounts: Float64Array.of(some(5), some(5)),
    count: some(2),
  }));
  const all = rows.map((_, index) => index);
  const bins = Array.from({ length: 4 }, () => ({
    amounts: Float64Array.of(some(9), some(9)),
    price: some(20),
    rows: all,
  }));
  return {
    rows,
    bins: [...bins, { amounts: Float64Array.of(10, 10), price: 25, rows: all }],
    dimensions: 2,
  };
}

/** The least price, by placing pod after pod on each machine so far or on a new one. */
function byEveryDivision({ rows, bins }: Packing): number {
  const pods = rows.flatMap(({ amounts, count }) =>
    Array.from({ length: count }, () => [...amounts]),
  );
  const priceOf = (held: readonly number[]) =>
    Math.min(
      ...bins
        .filter(({ amounts }) => held.every((amount, d) => amount <= (amounts[d] as number)))
        .map(({ price }) => price),
    );
  const least = (index: number, machines: readonly (readonly number[])[]): number => {
    const pod = pods[index];
    if (pod === undefined) return machines.reduce((sum, held) => sum + priceOf(held), 0);
    const joined = machines.map((_, at) =>
      least(
        index + 1,
        machines.map((held, other) =>
          other === at ? held.map((amount, d) => amount + (pod[d] as number)) : held,
        ),
      ),
    );
    return Math.min(least(index + 1, [...machines, pod]), ...joined);
  };
  return least(0, []);
}
