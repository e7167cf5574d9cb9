/**
 * The lowest price of machines for a few pods, exact: all ways to divide the pods over whole machines are tried. A
 * bound that allows parts of machines is too low for pods that hardly fill one. With thousands of pods that error is
 * small, and there are too many ways to try.
 */
import { holds, type Packing } from "../src/core/planner/packing/packing.ts";

/** Limit for the number of states: combinations of pods that are left, by row. The work grows with the square of it. */
const MOST_STATES = 4_096;

/**
 * The price of the cheapest machines that hold all rows. Undefined: there are too many states, or a pod fits nowhere.
 */
export function wholeMachines({ rows, bins, dimensions }: Packing): number | undefined {
  const counts = rows.map(({ count }) => count);
  const strides: number[] = [];
  let states = 1;
  for (const count of counts) {
    strides.push(states);
    states *= count + 1;
    if (states > MOST_STATES) return undefined;
  }
  const cheapestFirst = bins.toSorted((a, b) => a.price - b.price);
  const numbersOf = (state: number): readonly number[] =>
    counts.map((count, row) => Math.floor(state / (strides[row] as number)) % (count + 1));
  const numbers = Array.from({ length: states }, (_, state) => numbersOf(state));
  // Price of the cheapest single machine that holds this number of pods of each row.
  const priceOfOne = numbers.map((own) => {
    const amounts = new Float64Array(dimensions);
    rows.forEach((row, index) => {
      row.amounts.forEach((amount, d) => {
        amounts[d] = (amounts[d] as number) + amount * (own[index] as number);
      });
    });
    const bin = cheapestFirst.find((one) => own.every((times, row) => times === 0 || one.rows.includes(row)) && holds(one.amounts, amounts));
    return bin?.price ?? Number.POSITIVE_INFINITY;
  });
  const least = new Float64Array(states).fill(Number.POSITIVE_INFINITY);
  least[0] = 0;
  for (let state = 1; state < states; state++) {
    const left = numbers[state] as readonly number[];
    // The next machine holds a pod of the first row that has pods left. So each division is tried in one order only.
    const first = left.findIndex((times) => times > 0);
    for (let part = 1; part <= state; part++) {
      const own = numbers[part] as readonly number[];
      if ((own[first] as number) === 0 || own.some((times, row) => times > (left[row] as number))) continue;
      least[state] = Math.min(least[state] as number, (priceOfOne[part] as number) + (least[state - part] as number));
    }
  }
  const price = least[states - 1] as number;
  return price === Number.POSITIVE_INFINITY ? undefined : price;
}
