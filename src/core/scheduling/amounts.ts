/**
 * Resources as rows of numbers, each name at a position of its own: what nodes have left is asked for, and
 * taken from, many million times in a sweep of a large cluster.
 *
 * Positions last as long as the process does, so only what a node has gets one: there are few such
 * resources. Anybody may ask for what no node has, by as many names as they like.
 */
import type { Resources } from "../../apis/resources.ts";

/** What there is, by position; what is not there is 0. Never mutated. */
export type Amounts = readonly number[];

/** What is wanted: of the resource at each of these positions so much. */
export interface Demand {
  readonly positions: readonly number[];
  readonly amounts: readonly number[];
  /** What no node had so far. */
  readonly unseen: readonly Unseen[];
}

interface Unseen {
  readonly name: string;
  readonly amount: number;
}

const positions = new Map<string, number>();

/** Of resources that some node has, or had. For tests. */
export function seenResources(): number {
  return positions.size;
}

export function amountsOf(resources: Resources): Amounts {
  const row: number[] = [];
  for (const name in resources) {
    const amount = resources[name] as number;
    let position = positions.get(name);
    if (position === undefined) {
      // Nobody has it: a pod that runs here only asked for it.
      if (amount <= 0) continue;
      position = positions.size;
      positions.set(name, position);
    }
    put(row, position, amount);
  }
  return row;
}

/** What there is of a resource. Exported for tests. */
export function amountOf(amounts: Amounts, name: string): number {
  const position = positionOf(name);
  return position === undefined ? 0 : (amounts[position] ?? 0);
}

/** Where amounts of the resource are; undefined: no node had any so far. */
export function positionOf(name: string): number | undefined {
  return positions.get(name);
}

export function demandOf(resources: Resources): Demand {
  const demand = { positions: [] as number[], amounts: [] as number[], unseen: [] as Unseen[] };
  for (const name in resources) {
    const amount = resources[name] as number;
    const position = positions.get(name);
    if (position !== undefined) {
      demand.positions.push(position);
      demand.amounts.push(amount);
    } else if (amount > 0) demand.unseen.push({ name, amount });
  }
  return demand;
}

/** As `fits` of resources. */
export function isWithin(demand: Demand, amounts: Amounts): boolean {
  const { positions: at, amounts: wanted, unseen } = demand;
  for (let index = 0; index < at.length; index++) {
    if ((wanted[index] as number) > (amounts[at[index] as number] ?? 0)) return false;
  }
  for (let index = 0; index < unseen.length; index++) {
    const { name, amount } = unseen[index] as Unseen;
    // By now a node may have come that has it.
    if (amount > amountOf(amounts, name)) return false;
  }
  return true;
}

/** What is left once the demand is met; may go below zero. */
export function without(amounts: Amounts, demand: Demand): Amounts {
  const left = amounts.slice();
  const { positions: at, amounts: taken, unseen } = demand;
  for (let index = 0; index < at.length; index++) {
    const position = at[index] as number;
    put(left, position, (left[position] ?? 0) - (taken[index] as number));
  }
  for (const { name, amount } of unseen) {
    const position = positions.get(name);
    if (position !== undefined) put(left, position, (left[position] ?? 0) - amount);
  }
  return left;
}

function put(row: number[], position: number, amount: number): void {
  while (row.length < position) row.push(0);
  row[position] = amount;
}
