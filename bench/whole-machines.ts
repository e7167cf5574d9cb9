/**
 * What a few pods cost at least when machines are whole: exact, by trying every way to divide them. A price for parts of
 * machines says too little of pods that hardly fill one. Only where the ways are few: of thousands of pods the parts are
 * small beside the whole.
 */
import { holds, type Packing } from "../src/core/planner/packing/packing.ts";

/** Numbers of pods of each row that may be left to place: work grows with their square. */
const MOST_STATES = 4_096;

/** The price of the cheapest machines that hold all rows; undefined: there are too many ways, or a pod fits nowhere. */
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
  // Of one machine that holds so many of each.
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
    // Some machine holds one of these; so no division is looked at in two orders.
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
