/**
 * Candidates for a fix, and the order in which they are examined: the cheapest edits first, then the closest way, then
 * by text.
 */
import { compareText } from "../../../base/text-order.ts";
import type { Edit } from "./edits.ts";
import { costOf } from "./obstacles.ts";

/** A candidate for a fix: edits that should let the pod get a new node of one pool. */
export interface ForNewNode {
  readonly poolId: string;
  /** Which required term of the pod, and which place of its volumes, the node must satisfy. Both are indices. */
  readonly term: number;
  readonly place: number;
  readonly edits: readonly Edit[];
}

/** A candidate for a fix: edits that may place the pod on any node. */
export interface ForAnyNode {
  readonly poolId?: undefined;
  readonly edits: readonly Edit[];
}

export type FixCandidate = ForNewNode | ForAnyNode;

/** A candidate with its sort keys. */
export interface Ranked {
  readonly state: FixCandidate;
  readonly cost: number;
  /** The index of this way in the list of ways to remove its obstacle. At equal cost, the lower index comes first. */
  readonly at: number;
  readonly id: string;
}

export function ranked(state: FixCandidate, id: string, at = 0): Ranked {
  return { state, cost: costOf(state.edits), at, id };
}

export function isCheaper(a: Ranked, b: Ranked): boolean {
  return (a.cost - b.cost || a.at - b.at || compareText(a.id, b.id)) < 0;
}

export function idOf(state: FixCandidate): string {
  const towards = state.poolId === undefined ? "" : `${state.poolId} ${state.term} ${state.place}`;
  return `${towards} ${state.edits.map((edit) => JSON.stringify(edit)).sort()}`;
}
