/**
 * The fixes that the search for a fix may examine, and their order: cheapest edits first. A fix is a list of edits with
 * which a pod without a place gets one.
 */
import { compareText } from "../../../base/text-order.ts";
import type { Edit } from "./edits.ts";
import { costOf } from "./obstacles.ts";

/** A possible fix: edits that should let the pod get a new node of one pool. */
export interface ForNewNode {
  readonly poolId: string;
  /**
   * Indices: which of the pod's required node affinity terms, and which of the places of its volumes, the node must
   * satisfy.
   */
  readonly term: number;
  readonly place: number;
  readonly edits: readonly Edit[];
}

/** A possible fix: edits of the pod alone, with which it may fit on any node. */
export interface ForAnyNode {
  readonly poolId?: undefined;
  readonly edits: readonly Edit[];
}

export type FixCandidate = ForNewNode | ForAnyNode;

/** A candidate with its sort keys. */
export interface Ranked {
  readonly state: FixCandidate;
  readonly cost: number;
  /** The index of the last edits among all ways to remove an obstacle. At equal cost, the lower index comes first. */
  readonly at: number;
  readonly id: string;
}

export function ranked(state: FixCandidate, id: string, at = 0): Ranked {
  return { state, cost: costOf(state.edits), at, id };
}

export function isTriedBefore(a: Ranked, b: Ranked): boolean {
  return (a.cost - b.cost || a.at - b.at || compareText(a.id, b.id)) < 0;
}

export function idOf(state: FixCandidate): string {
  const towards = state.poolId === undefined ? "" : `${state.poolId} ${state.term} ${state.place}`;
  return `${towards} ${state.edits.map((edit) => JSON.stringify(edit)).sort()}`;
}
