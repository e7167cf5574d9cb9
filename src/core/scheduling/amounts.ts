/**
 * Resources as rows of numbers, each name at a position of its own: what nodes have left is asked for, and
 * taken from, many million times in a sweep of a large cluster.
 */
import type { Resources } from "../../apis/resources.ts";

/** What there is, by position; what is not there is 0. Never mutated. */
export type Amounts = readonly number[];

/** What is wanted: of the resource at each of these positions so much. */
export interface Demand {
  readonly positions: readonly number[];
  readonly amounts: readonly number[];
}

/** Given out once a name, for as long as the process lasts: there are few names. */
const positions = new Map<string, number>();

function positionOf(name: string): number {
  let position = positions.get(name);
  if (position === undefined) {
    position = positions.size;
    positions.set(name, position);
  }
  return position;
}

export function amountsOf(resources: Resources): Amounts {
  const row: number[] = [];
  for (const name in resources) put(row, positionOf(name), resources[name] as number);
  return row;
}

export function amountOf(amounts: Amounts, name: string): number {
  return amounts[positionOf(name)] ?? 0;
}

export function demandOf(resources: Resources): Demand {
  const names = Object.keys(resources);
  return {
    positions: names.map(positionOf),
    amounts: names.map((name) => resources[name] as number),
  };
}

/** As `fits` of resources. */
export function isWithin(demand: Demand, amounts: Amounts): boolean {
  const { positions: at, amounts: wanted } = demand;
  for (let index = 0; index < at.length; index++) {
    if ((wanted[index] as number) > (amounts[at[index] as number] ?? 0)) return false;
  }
  return true;
}

/** What is left once the demand is met; may go below zero. */
export function without(amounts: Amounts, demand: Demand): Amounts {
  const left = amounts.slice();
  const { positions: at, amounts: taken } = demand;
  for (let index = 0; index < at.length; index++) {
    const position = at[index] as number;
    put(left, position, (left[position] ?? 0) - (taken[index] as number));
  }
  return left;
}

function put(row: number[], position: number, amount: number): void {
  while (row.length < position) row.push(0);
  row[position] = amount;
}
