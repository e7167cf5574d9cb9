/**
 * Counts the nodes that a method wants to disrupt in one round. So all its commands together respect budgets (of
 * NodePools and of the cluster) and PodDisruptionBudgets.
 */
import { keyOf } from "../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { budgetsOf } from "../../apis/policy/pdb.ts";
import type { PoolAllowance } from "./budgets.ts";
import type { Candidate } from "./candidates.ts";
import type { RoundBudgets } from "./round.ts";

/** Counts nodes as disrupted while the budgets of their NodePools and of the cluster allow it. */
export interface BudgetCounter {
  /** Counts the node, if the budgets allow one more. False: they do not. */
  take(candidate: Candidate): boolean;
  /** How many more nodes of this node's NodePool may be disrupted. Infinity: budgets do not count this node. */
  left(candidate: Candidate): number;
  /** Whether all of these nodes may be disrupted together. */
  fits(candidates: readonly Candidate[]): boolean;
}

/** Counts nodes as disrupted while budgets and PodDisruptionBudgets allow it. */
export interface DisruptionCounter extends Pick<BudgetCounter, "take" | "left"> {
  /** Counts all these nodes, if they may be disrupted together. False: none of them is counted. */
  takeAll(candidates: readonly Candidate[]): boolean;
}

const UNLIMITED = Number.POSITIVE_INFINITY;

/** Whether budgets do not count the node. They count initialized nodes only, but node repair disrupts others, too. */
function isOutsideBudgets({ node, broken }: Candidate): boolean {
  return broken !== undefined && !node.initialized;
}

/** A counter for budgets that has counted nothing yet. `allowances`: by pool id. */
export function budgetCounter(allowances: ReadonlyMap<string, PoolAllowance>): BudgetCounter {
  const leftIn = new Map([...allowances].map(([id, { allowed }]) => [id, allowed]));
  let leftInAll = [...allowances.values()][0]?.everywhere.allowed ?? 0;
  const left = (candidate: Candidate) =>
    isOutsideBudgets(candidate)
      ? UNLIMITED
      : Math.min(leftIn.get(candidate.pool.id) ?? 0, leftInAll);
  return {
    left,
    take: (candidate) => {
      if (left(candidate) <= 0) return false;
      if (isOutsideBudgets(candidate)) return true;
      leftIn.set(candidate.pool.id, (leftIn.get(candidate.pool.id) ?? 0) - 1);
      leftInAll--;
      return true;
    },
    fits: (candidates) => {
      const wanted = new Map<string, number>();
      for (const { pool } of candidates) wanted.set(pool.id, (wanted.get(pool.id) ?? 0) + 1);
      const fitsPools = [...wanted].every(([id, count]) => count <= (leftIn.get(id) ?? 0));
      return fitsPools && candidates.length <= leftInAll;
    },
  };
}

/** A counter for budgets and PodDisruptionBudgets that has counted nothing yet. */
export function disruptionCounter({ allowances, pdbs }: RoundBudgets): DisruptionCounter {
  const budgets = budgetCounter(allowances);
  const evictions = evictionCounter(pdbs);
  return {
    left: budgets.left,
    // PodDisruptionBudgets come first, so a node that they refuse uses up no budget of its NodePool.
    take: (one) => budgets.left(one) > 0 && evictions.take([one]) && budgets.take(one),
    takeAll: (candidates) => {
      if (!budgets.fits(candidates) || !evictions.take(candidates)) return false;
      for (const one of candidates) budgets.take(one);
      return true;
    },
  };
}

/**
 * Counts evictions against each PodDisruptionBudget over several nodes. Otherwise ten nodes could rely on the same
 * single eviction. The first call for a PodDisruptionBudget always succeeds: each node was checked alone as a
 * candidate.
 */
export function evictionCounter(pdbs: readonly PodDisruptionBudget[]): {
  take(candidates: readonly Pick<Candidate, "reschedulablePods">[]): boolean;
} {
  const taken = new Map<string, number>();
  return {
    take: (candidates) => {
      const pods = candidates.flatMap(({ reschedulablePods }) => reschedulablePods);
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
