/**
 * Consolidates one node with pods: its pods fit on other nodes, or on a cheaper one. karpenter-ts only: upstream
 * proposes one command a round, so with 100 pools a pool may wait half an hour. Here each group of pools whose pods may
 * share nodes gets its own command. The pool served longest ago comes first. Pools on which repack saves much more are
 * left to it.
 * upstream: pkg/controllers/disruption/singlenodeconsolidation.go
 */
import { eachInSteps, type Steps, sortInSteps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import { bySavings, type Candidate, isEmpty } from "../candidates.ts";
import type { BalancedVerdict, Command } from "../command.ts";
import {
  consolidateOne,
  isConsolidatable,
  unconsolidatable,
  validateConsolidation,
} from "../consolidation.ts";
import { type DisruptionCounter, disruptionCounter } from "../counters.ts";
import { groupByPool } from "../repack/groups.ts";
import type { Round } from "../round.ts";
import { inRuns, type Method, type Proposal, type Remark } from "./method.ts";
import { deferredToRepack, poolsLeftToRepack } from "./repack.ts";

/** The most commands of one round. They are validated together. */
const MAX_COMMANDS = 32;

export const singleNodeConsolidation: Method = {
  name: "single-node consolidation",
  reason: "Underutilized",
  consolidationType: "single",
  disruptionClass: "graceful",
  simulates: true,
  needsValidation: true,
  isEligible: isConsolidatable,
  propose,
  validate: validateConsolidation,
};

function* propose(round: Round): Steps<Proposal> {
  const remarks: Remark[] = [];
  const counter = disruptionCounter(round.budgets);
  const allowed = yield* allowedCandidates(round, { counter, remarks });
  const refused: BalancedVerdict[] = [];
  const leftToRepack = new Set<string>();
  const done = new Set<string>();
  const commands: Command[] = [];
  const servedPools: ReadonlySet<string>[] = [];
  yield;
  const groupOf = groupByPool(round.facts.simulator.openTo());
  const answer = () => ({
    commands,
    deferred: deferredToRepack(leftToRepack),
    remarks,
    refused,
    servedPools,
  });
  for (const run of inRuns(yield* inTurnsByPool(allowed, round, groupOf))) {
    yield;
    for (const candidate of run) {
      const { pool, generation } = candidate;
      if (leftToRepack.has(pool.id) || done.has(pool.id) || counter.left(candidate) <= 0) continue;
      const found = consolidateOne(candidate, round);
      if ("message" in found) {
        refused.push(...(found.refused ?? []));
        remarks.push({ candidate, about: "unconsolidatable", message: found.message });
        continue;
      }
      const others = yield* poolsLeftToRepack(found, round);
      for (const id of others) leftToRepack.add(id);
      if (others.length > 0 || !counter.take(candidate)) continue;
      commands.push(found);
      const group = groupOf(pool.id);
      if (group !== undefined) servedPools.push(group);
      // If the group is not known, any pool may share nodes with this one, so there is no further command.
      if (group === undefined || generation !== "v1") return answer();
      for (const id of group) done.add(id);
      if (commands.length === MAX_COMMANDS) return answer();
    }
  }
  return answer();
}

/** The candidates that budgets allow. Adds to `remarks` why other nodes with pods are never consolidated. */
function* allowedCandidates(
  round: Round,
  { counter, remarks }: { readonly counter: DisruptionCounter; readonly remarks: Remark[] },
): Steps<readonly Candidate[]> {
  const allowed: Candidate[] = [];
  yield* eachInSteps(round.facts.candidates, (candidate) => {
    const { pool, generation } = candidate;
    if (isEmpty(candidate) || pool.replicas !== undefined) return;
    const message = unconsolidatable(candidate);
    if (message !== undefined) {
      remarks.push({ candidate, about: "unconsolidatable", message });
      return;
    }
    const mustWait = generation === "alpha" && round.facts.alphaBusy;
    if (isConsolidatable(candidate, round.nowMs) && counter.left(candidate) > 0 && !mustWait)
      allowed.push(candidate);
  });
  return allowed;
}

/**
 * The candidates in turns: the best one of each pool, then the second of each, and so on. The pool served longest ago
 * comes first.
 */
function* inTurnsByPool(
  candidates: readonly Candidate[],
  { holdOffs: { turns } }: Round,
  groupOf: (poolId: string) => ReadonlySet<string> | undefined,
): Steps<readonly Candidate[]> {
  const byPool = new Map<string, Candidate[]>();
  yield* eachInSteps(yield* sortInSteps(candidates, bySavings), (candidate) => {
    within(byPool, candidate.pool.id, () => []).push(candidate);
  });
  const pools = [...byPool]
    .map(([id, own]) => ({ id, own, lastMs: turns.lastMs(groupOf(id) ?? new Set()) }))
    .sort((a, b) => a.lastMs - b.lastMs || (a.id < b.id ? -1 : 1))
    .map(({ own }) => own);
  const longest = pools.reduce((most, own) => (own.length > most.length ? own : most), []);
  const order: Candidate[] = [];
  yield* eachInSteps(longest, (_, rank) => {
    for (const own of pools) {
      const candidate = own[rank];
      if (candidate !== undefined) order.push(candidate);
    }
  });
  return order;
}
