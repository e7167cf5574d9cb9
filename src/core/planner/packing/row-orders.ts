/** The orders of rows (sets of equal items) in which greedy filling takes their items. */
import type { Packing } from "./packing.ts";

/** With at least this many rows, the engine's sort is faster than insertion sort (`bench -- speed`). */
const MANY_TO_SORT = 256;

/** Sorts rows in place, the largest key first, equal keys by index. Insertion sort is fast for nearly sorted rows. */
export function largestKeyFirst(rows: number[], keys: Float64Array): number[] {
  if (rows.length >= MANY_TO_SORT)
    return rows.sort((a, b) => (keys[b] as number) - (keys[a] as number) || a - b);
  for (let at = 1; at < rows.length; at++) {
    const row = rows[at] as number;
    const key = keys[row] as number;
    let to = at;
    for (; to > 0; to--) {
      const other = rows[to - 1] as number;
      const otherKey = keys[other] as number;
      if (otherKey > key || (otherKey === key && other < row)) break;
      rows[to] = other;
    }
    rows[to] = row;
  }
  return rows;
}

/** Five orders of the rows, the largest first: by value, by cpu, by memory, by cpu over memory, by memory over cpu. */
export function fillingOrders(packing: Packing, values: Float64Array): number[][] {
  const by = (key: (amounts: Float64Array) => number) =>
    byKeys(packing.rows.map(({ amounts }) => key(amounts)));
  return [
    byKeys(values),
    by((amounts) => amounts[0] as number),
    by((amounts) => amounts[1] as number),
    ...ratioOrders(packing),
  ];
}

/** Two orders of the rows: most cpu for their memory first, and most memory for their cpu first. */
export function ratioOrders({ rows }: Packing): [number[], number[]] {
  const over = (a: 0 | 1, b: 0 | 1) =>
    byKeys(rows.map(({ amounts }) => (amounts[a] as number) / ((amounts[b] as number) + 1)));
  return [over(0, 1), over(1, 0)];
}

/** All rows in the order of their keys, the largest first. */
export function byKeys(keys: ArrayLike<number>): number[] {
  const own = Float64Array.from(keys);
  return largestKeyFirst([...own.keys()], own);
}

/** All rows, from the most memory for each cpu to the most cpu for each memory. Equal shapes by index. */
export function byShape({ rows }: Packing): number[] {
  const shapes = rows.map(({ amounts }) => (amounts[0] as number) / ((amounts[1] as number) + 1));
  return [...rows.keys()].sort((a, b) => (shapes[a] as number) - (shapes[b] as number) || a - b);
}
