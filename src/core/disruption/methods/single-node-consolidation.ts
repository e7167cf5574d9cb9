/**
 * One used node whose pods fit elsewhere, or on something cheaper. Pools take turns, each with its best
 * saving first, so that a large pool does not keep the others waiting. Pools where repack saves more by far, or will
 * in a moment, are left to it, and the others go on.
 * upstream: pkg/controllers/disruption/singlenodeconsolidation.go
 */
import { type Steps, sortInSteps } from "../../../base/steps.ts";
import { bySavings, type Candidate } from "../candidates.ts";
import type { Verdict } from "../command.ts";
import { confirm, consolidate, isConsolidatable, unconsolidatable } from "../consolidation.ts";
import {
  budgetCounter,
  inRuns,
  type Method,
  type MethodInput,
  type Proposal,
  type Remark,
} from "./method.ts";
import { leftToRepack } from "./repack.ts";

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

function* propose(input: MethodInput): Steps<Proposal> {
  const remarks: Remark[] = [];
  for (const candidate of input.candidates) {
    if (candidate.reschedulablePods.length === 0 || candidate.pool.replicas !== undefined) continue;
    const message = unconsolidatable(candidate);
    if (message !== undefined) remarks.push({ candidate, about: "unconsolidatable", message });
  }
  const budgets = budgetCounter(input.allowances);
  const allowed = input.candidates.filter(
    (one) =>
      isConsolidatable(one) &&
      budgets.left(one) > 0 &&
      !(one.generation === "alpha" && input.alphaBusy),
  );
  const refused: Verdict[] = [];
  const left = new Set<string>();
  yield;
  for (const run of inRuns(yield* inTurns(allowed))) {
    yield;
    for (const candidate of run) {
      if (left.has(candidate.pool.id)) continue;
      const found = consolidate([candidate], input);
      if (!("message" in found)) {
        const others = yield* leftToRepack(found, input);
        if (others.length === 0) return { commands: [found], remarks, refused };
        for (const id of others) left.add(id);
        continue;
      }
      refused.push(...(found.verdicts ?? []).filter(({ approved }) => !approved));
      remarks.push({ candidate, about: "unconsolidatable", message: found.message });
    }
  }
  return { commands: [], waived: left.size > 0, remarks, refused };
}

/** The first of each pool by pool id, then the second of each, and so on. */
function* inTurns(candidates: readonly Candidate[]): Steps<readonly Candidate[]> {
  const byPool = new Map<string, Candidate[]>();
  for (const candidate of yield* sortInSteps(candidates, bySavings)) {
    const own = byPool.get(candidate.pool.id) ?? [];
    own.push(candidate);
    byPool.set(candidate.pool.id, own);
  }
  const pools = [...byPool.keys()].sort().map((id) => byPool.get(id) as Candidate[]);
  const rounds = Math.max(0, ...pools.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) =>
    pools.flatMap((own) => own[round] ?? []),
  ).flat();
}
