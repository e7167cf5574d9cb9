/**
 * PodDisruptionBudgets over a whole command: each allows so many of its pods to be down, whichever node
 * they run on. Looked at node by node, ten nodes could each count on the same one eviction.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { budgetsOf } from "../../apis/policy/pdb.ts";

/**
 * `take`: whether these pods may go too, beside those already taken; if so they are counted. The first
 * pods of a budget are always taken: what no budget allows at all is no candidate, and one node's own
 * pods are evicted one after the other.
 */
export function guardCounter(pdbs: readonly PodDisruptionBudget[]): {
  take(pods: readonly Pod[]): boolean;
} {
  const taken = new Map<string, number>();
  return {
    take: (pods) => {
      const wanted = new Map<string, { pdb: PodDisruptionBudget; count: number }>();
      for (const pdb of pods.flatMap((pod) => budgetsOf(pod, pdbs))) {
        const key = keyOf(pdb);
        wanted.set(key, { pdb, count: (wanted.get(key)?.count ?? 0) + 1 });
      }
      for (const [key, { pdb, count }] of wanted) {
        const before = taken.get(key) ?? 0;
        if (before > 0 && before + count > (pdb.status?.disruptionsAllowed ?? 0)) return false;
      }
      for (const [key, { count }] of wanted) taken.set(key, (taken.get(key) ?? 0) + count);
      return true;
    },
  };
}
