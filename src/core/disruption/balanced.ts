/**
 * The consolidation policy Balanced: a command must save a large enough share of its pool's price, compared with the
 * share of the pool's pods that it moves. Other policies accept any saving.
 * upstream: pkg/controllers/disruption/balanced.go
 */
import type { Pool } from "../../apis/hub/pool.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { PoolInput } from "../provisioning/scheduling-input.ts";
import type { NodeView } from "../state/node-view.ts";
import { priceOf, priceOfAll, rescheduleCostOf } from "./candidates.ts";
import { type BalancedVerdict, type Command, savingsMicroUsd } from "./command.ts";

/**
 * The share of the pool's reschedule cost that a command uses may be at most this many times the share that it saves.
 */
const BALANCED_K = 2;
const THRESHOLD = 1 / BALANCED_K;

/** Sums over all nodes of a pool, with which the shares of a command are computed. */
export interface PoolTotals {
  readonly priceMicroUsd: number;
  /** 1 for each node, plus the eviction costs of its pods. */
  readonly rescheduleCost: number;
}

/** Totals of the pools with the policy Balanced, keyed by pool id. */
export function* balancedTotals(
  nodes: readonly NodeView[],
  pools: readonly Pick<PoolInput, "pool" | "instanceTypes">[],
): Steps<ReadonlyMap<string, PoolTotals>> {
  const totals = new Map<string, PoolTotals>();
  const types = new Map<string, PoolInput["instanceTypes"]>();
  for (const { pool, instanceTypes } of pools) {
    if (pool.disruption.policy !== "Balanced") continue;
    types.set(pool.id, instanceTypes);
    totals.set(pool.id, { priceMicroUsd: 0, rescheduleCost: 0 });
  }
  if (totals.size === 0) return totals;
  yield* eachInSteps(nodes, (node) => {
    const { poolId = "", labels } = node;
    const before = totals.get(poolId);
    if (before === undefined) return;
    totals.set(poolId, {
      priceMicroUsd: before.priceMicroUsd + priceOf(labels, types.get(poolId) ?? []),
      rescheduleCost: before.rescheduleCost + rescheduleCostOf(node),
    });
  });
  return totals;
}

/** One verdict for each pool that would lose nodes, sorted by pool id. All of them must approve the command. */
export function weigh(
  command: Command,
  totals: ReadonlyMap<string, PoolTotals>,
): readonly BalancedVerdict[] {
  const { candidates } = command;
  const pools = new Map(candidates.map(({ pool }) => [pool.id, pool]));
  const sourceMicroUsd = priceOfAll(candidates);
  const savings = savingsMicroUsd(command);
  return [...pools.keys()].sort().map((id) => {
    const pool = pools.get(id) as Pool;
    const total = totals.get(id);
    if (pool.disruption.policy !== "Balanced" || total === undefined)
      return { pool, approved: true };
    const own = candidates.filter((one) => one.pool.id === id);
    const ownMicroUsd = priceOfAll(own);
    const share = sourceMicroUsd === 0 ? 0 : (savings * ownMicroUsd) / sourceMicroUsd;
    const moved = own.reduce((sum, { rescheduleCost }) => sum + rescheduleCost, 0);
    const savingsShare = ratio(share, total.priceMicroUsd);
    const disruptionShare = ratio(moved, total.rescheduleCost);
    const score = scoreOf(savingsShare, disruptionShare);
    return { pool, approved: score >= THRESHOLD, score, savingsShare, disruptionShare };
  });
}

/** The verdict as text: `score 1.25 >= threshold 0.50 (k: 2, savings 12.5%, disruption 10.0%)`. */
export function describeVerdict(verdict: BalancedVerdict): string {
  const { score = 0, savingsShare = 0, disruptionShare = 0, approved } = verdict;
  const percent = (share: number) => `${(share * 100).toFixed(1)}%`;
  const shares = `savings ${percent(savingsShare)}, disruption ${percent(disruptionShare)}`;
  const sign = approved ? ">=" : "<";
  return `score ${score.toFixed(2)} ${sign} threshold ${THRESHOLD.toFixed(2)} (k: ${BALANCED_K}, ${shares})`;
}

function ratio(part: number, whole: number): number {
  return whole <= 0 ? 0 : part / whole;
}

function scoreOf(savingsShare: number, disruptionShare: number): number {
  if (savingsShare <= 0) return 0;
  return disruptionShare === 0 ? Number.POSITIVE_INFINITY : savingsShare / disruptionShare;
}
