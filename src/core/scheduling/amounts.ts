/**
 * Resources as rows of numbers: each resource name has a fixed position. In a large cluster, nodes are compared with
 * requests many million times in one round of disruption, and rows of numbers are the fastest form.
 *
 * Positions are never freed. So a resource gets a position only once some node has some of it left; there are few such
 * resources. Pods may request any number of other names.
 */
import type { Resources } from "../../apis/resources.ts";

/**
 * Amounts by position, such as what is left on a node. 0 or missing: none is left, or the node does not have the
 * resource. Negative: its pods request more than it has. A row never changes.
 */
export type Amounts = readonly number[];

/** The amounts that a pod requests, with their positions. */
export interface Demand {
  readonly positions: readonly number[];
  readonly amounts: readonly number[];
  /** Requested resources that no node had when this demand was computed. */
  readonly unseen: readonly Unseen[];
}

interface Unseen {
  readonly name: string;
  readonly amount: number;
}

const positions = new Map<string, number>();

/** Number of resources that some node has or had. For tests. */
export function seenResources(): number {
  return positions.size;
}

/** The row of amounts of these resources. */
export function amountsOf(resources: Resources): Amounts {
  const row: number[] = [];
  for (const name in resources) {
    const amount = resources[name] as number;
    let position = positions.get(name);
    if (position === undefined) {
      // No node has had any of this resource left so far, and this one has none either.
      if (amount <= 0) continue;
      position = positions.size;
      positions.set(name, position);
    }
    put(row, position, amount);
  }
  return row;
}

/** The amount of a resource. 0: see {@link Amounts}, or no node has had any of it left so far. */
export function amountOf(amounts: Amounts, name: string): number {
  const position = positionOf(name);
  return position === undefined ? 0 : (amounts[position] ?? 0);
}

/** The position of a resource. Undefined: no node has had any of it left so far. */
export function positionOf(name: string): number | undefined {
  return positions.get(name);
}

/** The demand of a pod: its requested resources by position. */
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

/** Whether the amounts are enough for the demand. */
export function isWithin(demand: Demand, amounts: Amounts): boolean {
  const { positions: at, amounts: wanted, unseen } = demand;
  for (let index = 0; index < at.length; index++) {
    if ((wanted[index] as number) > (amounts[at[index] as number] ?? 0)) return false;
  }
  for (let index = 0; index < unseen.length; index++) {
    const { name, amount } = unseen[index] as Unseen;
    // A node may have been added with this resource after the demand was computed.
    if (amount > amountOf(amounts, name)) return false;
  }
  return true;
}

/** The amounts minus the demand. Results may be negative. */
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
