/**
 * Several used nodes at once: all that can go together with their pods on the nodes that stay, run by
 * run of the whole cluster; or the longest run of candidates, best saving first, that can go for
 * something cheaper in their place, found by halving. What saves more is done.
 * upstream: pkg/controllers/disruption/multinodeconsolidation.go
 */
import { filterInSteps, type Steps, sortInSteps } from "../../../base/steps.ts";
import { bySavings, type Candidate } from "../candidates.ts";
import { type Command, savingsMicroUsd, type Verdict } from "../command.ts";
import { confirm, consolidate, isConsolidatable } from "../consolidation.ts";
import { guardCounter } from "../guards.ts";
import type { Round } from "../round.ts";
import { budgetCounter, inRuns, LOOKED_AT_PER_STEP, type Method, type Proposal } from "./method.ts";
import { leftForRepack, leftToRepack } from "./repack.ts";

const MAX_NODES = 100;
/** Of those that are only looked at. */
const NODES_PER_STEP = 256;
/** Pods of nodes that are tried together. */
const PODS_AT_ONCE = 1_500;

export const multiNodeConsolidation: Method = {
  name: "multi-node consolidation",
  reason: "Underutilized",
  consolidationType: "multi",
  disruptionClass: "graceful",
  costly: true,
  waits: true,
  isEligible: isConsolidatable,
  propose,
  validate: confirm,
};

/** What is saved where repack would save more by far is left to it; the other pools go on. */
function* propose(round: Round): Steps<Proposal> {
  const left = new Set<string>();
  for (;;) {
    // Of the pools that go on: the same moves were refused the last time.
    const refused: Verdict[] = [];
    const candidates = yield* filterInSteps(
      round.candidates,
      LOOKED_AT_PER_STEP,
      (one) => !left.has(one.pool.id) && isConsolidatable(one, round.nowMs),
    );
    const command = yield* bestOf(candidates, round, refused);
    const others = command === undefined ? [] : yield* leftToRepack(command, round);
    if (others.length === 0)
      return {
        commands: command === undefined ? [] : [command],
        later: leftForRepack(left),
        remarks: [],
        refused,
      };
    for (const id of others) left.add(id);
  }
}

/** Of those that are consolidatable. A command speaks for one generation: the first that has one wins, oldest words first. */
function* bestOf(
  candidates: readonly Candidate[],
  round: Round,
  refused: Verdict[],
): Steps<Command | undefined> {
  const removable = yield* sortInSteps(
    candidates.filter(({ generation }) => generation === "v1"),
    bySavings,
  );
  let looked = 0;
  let removal: Command | undefined;
  for (const run of inRuns(removable, PODS_AT_ONCE)) {
    yield;
    looked += run.length;
    removal = yield* allAtOnce(run, round, refused);
    // With more to look at it is enough by itself.
    if (removal !== undefined && looked < removable.length) return removal;
  }
  yield;
  for (const generation of ["alpha", "beta", "v1"] as const) {
    if (generation === "alpha" && round.alphaBusy) continue;
    yield;
    const chosen = yield* together(
      candidates.filter((one) => one.generation === generation),
      round,
    );
    const command = yield* longest(chosen, round, refused);
    const best = generation === "v1" ? savingMore(removal, command) : command;
    if (best !== undefined) return best;
  }
  return undefined;
}

/** The nodes of a run that can all go without a new one. Upstream tries runs of one order only. */
function* allAtOnce(
  candidates: readonly Candidate[],
  round: Round,
  refused: Verdict[],
): Steps<Command | undefined> {
  const budgets = budgetCounter(round.allowances);
  const guards = guardCounter(round.pdbs);
  const going = yield* round.simulator.togetherInSteps(
    candidates.filter((one) => budgets.left(one) > 0),
    (one) => budgets.left(one) > 0 && guards.take(one.reschedulablePods) && budgets.take(one),
  );
  if (going.length < 2) return undefined;
  const found = consolidate(going, round);
  if (!("message" in found)) return found;
  refused.push(...(found.verdicts ?? []).filter(({ approved }) => !approved));
  return undefined;
}

/** The command that saves more; the second of equals. */
function savingMore(a: Command | undefined, b: Command | undefined): Command | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return savingsMicroUsd(a) > savingsMicroUsd(b) ? a : b;
}

/** As many as budgets allow, whose pods the guards of their workloads let go together. */
function* together(candidates: readonly Candidate[], round: Round): Steps<readonly Candidate[]> {
  const budgets = budgetCounter(round.allowances);
  const guards = guardCounter(round.pdbs);
  const sorted = yield* sortInSteps(candidates, bySavings);
  const chosen: Candidate[] = [];
  for (const [index, one] of sorted.entries()) {
    if (chosen.length === MAX_NODES) break;
    if (index % NODES_PER_STEP === NODES_PER_STEP - 1) yield;
    // Whom a guard keeps takes up nothing of the budget.
    const goes = budgets.left(one) > 0 && guards.take(one.reschedulablePods) && budgets.take(one);
    if (goes) chosen.push(one);
  }
  return chosen;
}

/** `refused` takes the verdicts against moves that were tried. */
function* longest(
  candidates: readonly Candidate[],
  round: Round,
  refused: Verdict[],
): Steps<Command | undefined> {
  let best: Command | undefined;
  let low = 2;
  let high = candidates.length;
  while (low <= high) {
    yield;
    const count = (low + high) >> 1;
    const found = consolidate(candidates.slice(0, count), round);
    if ("message" in found) {
      refused.push(...(found.verdicts ?? []).filter(({ approved }) => !approved));
      high = count - 1;
    } else {
      best = found;
      low = count + 1;
    }
  }
  return best;
}
