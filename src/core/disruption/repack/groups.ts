/** Groups of pools whose pods may share nodes. Repacking one group does not affect nodes of another group. */
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { Candidate } from "../candidates.ts";

/** Pools (by id) whose pods may share nodes, and the candidates among their nodes. */
export interface PoolGroup {
  readonly poolIds: ReadonlySet<string>;
  readonly candidates: readonly Candidate[];
}

/** The candidates by group, sorted by the lowest pool id of each group. `openTo`: lists of pools for the same pods. */
export function* poolGroups(
  candidates: readonly Candidate[],
  openTo: readonly (readonly string[])[],
): Steps<readonly PoolGroup[]> {
  const groupOf = groupByPool(openTo);
  const groups = new Map<ReadonlySet<string>, Candidate[]>();
  for (const id of openTo.flat().sort()) {
    const poolIds = groupOf(id);
    if (poolIds !== undefined && !groups.has(poolIds)) groups.set(poolIds, []);
  }
  yield* eachInSteps(candidates, (candidate) => {
    const poolIds = groupOf(candidate.pool.id);
    if (poolIds !== undefined) groups.get(poolIds)?.push(candidate);
  });
  return [...groups]
    .map(([poolIds, own]) => ({ poolIds, candidates: own }))
    .filter((group) => group.candidates.length > 0);
}

/** Finds the group of a pool (by id), the same set for all its pools. Undefined: `openTo` does not name the pool. */
export function groupByPool(
  openTo: readonly (readonly string[])[],
): (poolId: string) => ReadonlySet<string> | undefined {
  const parents = new Map<string, string>();
  const rootOf = (id: string): string => {
    let root = id;
    for (let up = parents.get(root); up !== undefined; up = parents.get(root)) root = up;
    return root;
  };
  for (const [first, ...others] of openTo) {
    if (first === undefined) continue;
    for (const other of others) {
      const [a, b] = [rootOf(first), rootOf(other)];
      if (a !== b) parents.set(a > b ? a : b, a > b ? b : a);
    }
  }
  const groups = new Map<string, Set<string>>();
  for (const id of openTo.flat()) {
    const root = rootOf(id);
    groups.set(root, (groups.get(root) ?? new Set()).add(id));
  }
  return (poolId) => groups.get(rootOf(poolId));
}
