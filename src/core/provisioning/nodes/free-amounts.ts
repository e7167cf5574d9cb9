/**
 * Finds all existing nodes that have too little room for a requested amount, cached by amount. So even in a cluster of
 * 100,000 nodes, a pod with new requests is tried only on nodes that could take it.
 */
import type { Resources } from "../../../apis/resources.ts";
import { atOnce, eachInSteps, type Steps } from "../../../base/steps.ts";
import { positionOf } from "../../scheduling/amounts.ts";
import { Marks } from "../../scheduling/bits.ts";
import type { ExistingNode } from "./existing-node.ts";

/** For one resource: what each node has left, by index. Also, for each requested amount, the nodes with less. */
interface Column {
  readonly left: Float64Array;
  readonly short: Map<number, Marks>;
}

export class FreeAmounts {
  readonly #nodes: ExistingNode[];
  readonly #columns = new Map<string, Column>();

  constructor(nodes: readonly ExistingNode[]) {
    this.#nodes = [...nodes];
  }

  /** Computes the columns of these resources in steps, before they are first needed. */
  *read(names: Iterable<string>): Steps<void> {
    for (const name of names) {
      if (this.#columns.has(name)) continue;
      const left = new Float64Array(this.#nodes.length);
      yield* eachInSteps(this.#nodes, (node, index) => {
        left[index] = leftOf(node, name);
      });
      this.#columns.set(name, { left, short: new Map() });
      yield;
    }
  }

  /** Marks the nodes that have too little left for these requests. Placements that may still be undone do not count. */
  addFull(requests: Resources, marks: Marks): void {
    for (const name in requests) {
      const amount = requests[name] as number;
      if (amount > 0) marks.addAll(this.#short(name, amount));
    }
  }

  /** Must be called after `leftAt` of the node has changed, or another node has taken its index. */
  update(node: ExistingNode): void {
    this.#nodes[node.index] = node;
    for (const [name, { left, short }] of this.#columns) {
      const amount = leftOf(node, name);
      left[node.index] = amount;
      for (const [wanted, marks] of short) {
        if (amount < wanted) marks.add(node.index);
        else marks.delete(node.index);
      }
    }
  }

  #short(name: string, amount: number): Marks {
    let column = this.#columns.get(name);
    if (column === undefined) {
      atOnce(this.read([name]));
      column = this.#columns.get(name) as Column;
    }
    let marks = column.short.get(amount);
    if (marks === undefined) {
      marks = new Marks();
      for (let index = 0; index < column.left.length; index++)
        if ((column.left[index] as number) < amount) marks.add(index);
      column.short.set(amount, marks);
    }
    return marks;
  }
}

function leftOf(node: ExistingNode, name: string): number {
  const position = positionOf(name);
  return position === undefined ? 0 : node.leftAt(position);
}
