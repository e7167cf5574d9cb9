/**
 * Consolidates several used nodes in one command. Two searches, and the command that saves more wins:
 * - Nodes that can be removed together because their pods fit on nodes that stay, in the whole cluster (v1 only).
 * - The longest list of candidates, best saving first, that can be replaced by something cheaper, found by bisection.
 *
 * upstream: pkg/controllers/disruption/multinodeconsolidation.go (the second search only)
 */
import { eachInSteps, filterInSteps, type Steps, sortInSteps } from "../../../base/steps.ts";
import { bySavings, type Candidate } from "../candidates.ts";
import { type BalancedVerdict, type Command, savingsMicroUsd } from "../command.ts";
import { consolidate, isConsolidatable, validateConsolidation } from "../consolidation.ts";
import { disruptionCounter } from "../counters.ts";
import type { Round } from "../round.ts";
import { inRuns, type Method, type Proposal } from "./method.ts";
import { deferredToRepack, poolsLeftToRepack } from "./repack.ts";

/** Nodes of one command. */
const MAX_NODES = 100;
/** Pods of the nodes that the first search tries together. */
const PODS_PER_TRY = 1_500;

export const multiNodeConsolidation: Method = {
  name: "multi-node consolidation",
  reason: "Underutilized",
  consolidationType: "multi",
  disruptionClass: "graceful",
  simulates: true,
  needsValidation: true,
  isEligible: isConsolidatable,
  propose,
  validate: validateConsolidation,
};

/** Searches again without the pools that are left to repack, until a command is about none of them. */
function* propose(round: Round): Steps<Proposal> {
  const left = new Set<string>();
  for (;;) {
    // Only verdicts of the last search, because an earlier one refused the same moves.
    const refused: BalancedVerdict[] = [];
    const candidates = yield* filterInSteps(
      round.facts.candidates,
      (one) => !left.has(one.pool.id) && isConsolidatable(one, round.nowMs),
    );
    const command = yield* bestCommand(candidates, round, refused);
    const others = command === undefined ? [] : yield* poolsLeftToRepack(command, round);
    if (others.length === 0)
      return {
        commands: command === undefined ? [] : [command],
        deferred: deferredToRepack(left),
        remarks: [],
        refused,
      };
    for (const id of others) left.add(id);
  }
}

/** A command has nodes of one generation: the first generation that has a command wins, the oldest first. */
function* bestCommand(
  candidates: readonly Candidate[],
  round: Round,
  refused: BalancedVerdict[],
): Steps<Command | undefined> {
  const removable = yield* sortInSteps(
    candidates.filter(({ generation }) => generation === "v1"),
    bySavings,
  );
  let tried = 0;
  let removal: Command | undefined;
  for (const run of inRuns(removable, PODS_PER_TRY)) {
    yield;
    tried += run.length;
    removal = yield* removalOf(run, round, refused);
    // While candidates are left to try, this command is begun first: it needs no replacement.
    if (removal !== undefined && tried < removable.length) return removal;
  }
  yield;
  for (const generation of ["alpha", "beta", "v1"] as const) {
    if (generation === "alpha" && round.facts.alphaBusy) continue;
    yield;
    const chosen = yield* withinLimits(
      candidates.filter((one) => one.generation === generation),
      round,
    );
    const command = yield* longestCommand(chosen, round, refused);
    const best = generation === "v1" ? savingMore(removal, command) : command;
    if (best !== undefined) return best;
  }
  return undefined;
}

/** Removes those nodes of a run whose pods fit together on nodes that stay. `refused` collects verdicts. */
function* removalOf(
  candidates: readonly Candidate[],
  round: Round,
  refused: BalancedVerdict[],
): Steps<Command | undefined> {
  const counter = disruptionCounter(round.budgets);
  const removed = yield* round.facts.simulator.removableTogether(
    candidates.filter((one) => counter.left(one) > 0),
    (one) => counter.take(one),
  );
  if (removed.length < 2) return undefined;
  const found = consolidate(removed, round);
  if (!("message" in found)) return found;
  refused.push(...(found.refused ?? []));
  return undefined;
}

/** The command that saves more; the second of equals. */
function savingMore(a: Command | undefined, b: Command | undefined): Command | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return savingsMicroUsd(a) > savingsMicroUsd(b) ? a : b;
}

/** Keeps as many candidates as budgets and PodDisruptionBudgets allow together, the best saving first. */
function* withinLimits(
  candidates: readonly Candidate[],
  round: Round,
): Steps<readonly Candidate[]> {
  const counter = disruptionCounter(round.budgets);
  const chosen: Candidate[] = [];
  yield* eachInSteps(yield* sortInSteps(candidates, bySavings), (one) => {
    if (chosen.length < MAX_NODES && counter.take(one)) chosen.push(one);
  });
  return chosen;
}

/** Bisects for the most candidates, from the first on, that one command can consolidate. */
function* longestCommand(
  candidates: readonly Candidate[],
  round: Round,
  refused: BalancedVerdict[],
): Steps<Command | undefined> {
  let best: Command | undefined;
  let low = 2;
  let high = candidates.length;
  while (low <= high) {
    yield;
    const count = (low + high) >> 1;
    const found = consolidate(candidates.slice(0, count), round);
    if ("message" in found) {
      refused.push(...(found.refused ?? []));
      high = count - 1;
    } else {
      best = found;
      low = count + 1;
    }
  }
  return best;
}
