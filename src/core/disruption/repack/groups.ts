/**
 * Pools whose pods may share machines: nodes of one group are packed anew together, those of different
 * groups have nothing to do with each other.
 */
import type { Candidate } from "../candidates.ts";

export interface Group {
  readonly poolIds: ReadonlySet<string>;
  /** In the order given. */
  readonly candidates: readonly Candidate[];
}

/** By the least pool id of each. `openTo`: lists of pools that the same pods could go to. */
export function groupsOf(
  candidates: readonly Candidate[],
  openTo: readonly (readonly string[])[],
): readonly Group[] {
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
  const groups = new Map<string, { poolIds: Set<string>; candidates: Candidate[] }>();
  for (const id of openTo.flat()) {
    const root = rootOf(id);
    const group = groups.get(root) ?? { poolIds: new Set<string>(), candidates: [] };
    group.poolIds.add(id);
    groups.set(root, group);
  }
  for (const candidate of candidates)
    groups.get(rootOf(candidate.pool.id))?.candidates.push(candidate);
  return [...groups.keys()]
    .sort()
    .flatMap((root) => groups.get(root) ?? [])
    .filter((group) => group.candidates.length > 0);
}
