/**
 * One used node whose pods fit elsewhere, or on something cheaper; of pools whose pods could never share a machine,
 * one each (upstream: one in all, so that a hundred pools take half an hour). Pools take turns, those first whose last
 * one is longest ago, each with its best saving first, so that a large pool does not keep the others waiting. Pools
 * where repack saves more by far, or will in a moment, are left to it, and the others go on.
 * upstream: pkg/controllers/disruption/singlenodeconsolidation.go
 */
import { eachInSteps, type Steps, sortInSteps } from "../../../base/steps.ts";
import { bySavings, type Candidate } from "../candidates.ts";
import type { Command, Verdict } from "../command.ts";
import { confirm, consolidate, isConsolidatable, unconsolidatable } from "../consolidation.ts";
import { guardCounter } from "../guards.ts";
import { poolsTogether } from "../repack/groups.ts";
import type { Round } from "../round.ts";
import { budgetCounter, inRuns, type Method, type Proposal, type Remark } from "./method.ts";
import { leftForRepack, leftToRepack } from "./repack.ts";

/** Of those that are only looked at. */
const NODES_PER_STEP = 1_024;
/** Commands that have their second look together. */
const MOST_AT_ONCE = 32;

export const singleNodeConsolidation: Method = {
  name: "single-node consolidation",
  reason: "Underutilized",
  consolidationType: "single",
  disruptionClass: "graceful",
  costly: true,
  waits: true,
  isEligible: isConsolidatable,
  propose,
  validate: confirm,
};

function* propose(round: Round): Steps<Proposal> {
  const remarks: Remark[] = [];
  const budgets = budgetCounter(round.allowances);
  const allowed: Candidate[] = [];
  yield* eachInSteps(round.candidates, NODES_PER_STEP, (candidate) => {
    const { reschedulablePods, pool, generation } = candidate;
    if (reschedulablePods.length === 0 || pool.replicas !== undefined) return;
    const message = unconsolidatable(candidate);
    if (message !== undefined) {
      remarks.push({ candidate, about: "unconsolidatable", message });
      return;
    }
    const isBusy = generation === "alpha" && round.alphaBusy;
    if (isConsolidatable(candidate, round.nowMs) && budgets.left(candidate) > 0 && !isBusy)
      allowed.push(candidate);
  });
  const refused: Verdict[] = [];
  const left = new Set<string>();
  const done = new Set<string>();
  const commands: Command[] = [];
  const turns: ReadonlySet<string>[] = [];
  const guards = guardCounter(round.pdbs);
  yield;
  const groupOf = poolsTogether(round.simulator.openTo());
  const answer = () => ({
    commands,
    later: leftForRepack(left),
    remarks,
    refused,
    turns,
  });
  for (const run of inRuns(yield* inTurns(allowed, round, groupOf))) {
    yield;
    for (const candidate of run) {
      const { pool, generation } = candidate;
      if (left.has(pool.id) || done.has(pool.id) || budgets.left(candidate) <= 0) continue;
      const found = consolidate([candidate], round);
      if ("message" in found) {
        refused.push(...(found.verdicts ?? []).filter(({ approved }) => !approved));
        remarks.push({ candidate, about: "unconsolidatable", message: found.message });
        continue;
      }
      const others = yield* leftToRepack(found, round);
      for (const id of others) left.add(id);
      if (others.length > 0 || !guards.take(candidate.reschedulablePods)) continue;
      budgets.take(candidate);
      commands.push(found);
      const group = groupOf(pool.id);
      if (group !== undefined) turns.push(group);
      // Where its pods could go is not known: nothing else is done beside that.
      if (group === undefined || generation !== "v1") return answer();
      for (const id of group) done.add(id);
      if (commands.length === MOST_AT_ONCE) return answer();
    }
  }
  return answer();
}

/** The first of each pool, then the second of each, and so on; pools by their last turn, then by id. */
function* inTurns(
  candidates: readonly Candidate[],
  { lastTurnMs }: Round,
  groupOf: (poolId: string) => ReadonlySet<string> | undefined,
): Steps<readonly Candidate[]> {
  const byPool = new Map<string, Candidate[]>();
  yield* eachInSteps(yield* sortInSteps(candidates, bySavings), NODES_PER_STEP, (candidate) => {
    const own = byPool.get(candidate.pool.id) ?? [];
    own.push(candidate);
    byPool.set(candidate.pool.id, own);
  });
  const lastMs = new Map<string, number>();
  for (const id of byPool.keys()) lastMs.set(id, lastTurnMs(groupOf(id) ?? new Set()));
  const pools = [...byPool.keys()]
    .sort((a, b) => (lastMs.get(a) ?? 0) - (lastMs.get(b) ?? 0) || (a < b ? -1 : 1))
    .map((id) => byPool.get(id) as Candidate[]);
  const longest = Math.max(0, ...pools.map(({ length }) => length));
  const order: Candidate[] = [];
  for (let turn = 0; turn < longest; turn++) {
    if (turn % NODES_PER_STEP === 0) yield;
    for (const own of pools) {
      const candidate = own[turn];
      if (candidate !== undefined) order.push(candidate);
    }
  }
  return order;
}
