/**
 * Pools whose pods may share machines: nodes of one group are packed anew together, those of different
 * groups have nothing to do with each other.
 */
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { Candidate } from "../candidates.ts";

/** Put in their groups before others get a turn. */
const NODES_PER_STEP = 1_024;

export interface Group {
  readonly poolIds: ReadonlySet<string>;
  /** In the order given. */
  readonly candidates: readonly Candidate[];
}

/** By the least pool id of each. `openTo`: lists of pools that the same pods could go to. */
export function* groupsOf(
  candidates: readonly Candidate[],
  openTo: readonly (readonly string[])[],
): Steps<readonly Group[]> {
  const togetherWith = poolsTogether(openTo);
  const groups = new Map<ReadonlySet<string>, Candidate[]>();
  for (const id of openTo.flat().sort()) {
    const poolIds = togetherWith(id);
    if (poolIds !== undefined && !groups.has(poolIds)) groups.set(poolIds, []);
  }
  const ownerOf = new Map([...groups.keys()].flatMap((ids) => [...ids].map((id) => [id, ids])));
  yield* eachInSteps(candidates, NODES_PER_STEP, (candidate) => {
    const poolIds = ownerOf.get(candidate.pool.id);
    if (poolIds !== undefined) groups.get(poolIds)?.push(candidate);
  });
  return [...groups]
    .map(([poolIds, own]) => ({ poolIds, candidates: own }))
    .filter((group) => group.candidates.length > 0);
}

/** Which pools (by id) share pods with one, itself among them: the same set for all; undefined for one not named. */
export function poolsTogether(
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
