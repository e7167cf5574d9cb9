/**
 * Consolidates several nodes with pods in one command. There are two searches, and the command that saves more wins:
 * - v1 only: nodes of the whole cluster that can be removed together, because their pods fit on the remaining nodes.
 * - The longest list of candidates, best saving first, that one command can remove or replace. It is found by bisection
 *   over the length of the list.
 * upstream: pkg/controllers/disruption/multinodeconsolidation.go (the second search only)
 */
import { eachInSteps, filterInSteps, type Steps, sortInSteps } from "../../../base/steps.ts";
import { bySavings, type Candidate } from "../candidates.ts";
import { type BalancedVerdict, type Command, savingsMicroUsd } from "../command.ts";
import { consolidateInSteps, isConsolidatable, validateConsolidation } from "../consolidation.ts";
import { disruptionCounter } from "../counters.ts";
import type { Round } from "../round.ts";
import { inRuns, type Method, type Proposal } from "./method.ts";
import { deferredToRepack, poolsLeftToRepack } from "./repack.ts";

/** The most nodes of a command that the second search finds. */
const MAX_NODES = 100;
/** How many pods the nodes have that the first search tries together. */
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

/** Searches for a command. If repack saves much more on some of its pools, searches again without these pools. */
function* propose(round: Round): Steps<Proposal> {
  const left = new Set<string>();
  for (;;) {
    // Only the verdicts of the last search are kept. Earlier searches had the same ones.
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

/**
 * The best command. A command has nodes of one API version only. The first search is for v1 nodes that can be removed
 * together, and its command begins at once unless it needed all candidates. After it, the oldest version comes first.
 */
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
    // The removal needs no replacement, so it begins now. The remaining candidates are tried in the next round.
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

/**
 * The command that removes those nodes of the run whose pods fit together on the remaining nodes. Undefined: fewer than
 * two, or it is held off. Adds verdicts that refuse it to `refused`.
 */
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
  const found = yield* consolidateInSteps(removed, round);
  if (!("message" in found)) return found;
  refused.push(...(found.refused ?? []));
  return undefined;
}

/** The command that saves more. If both save the same, the second one. */
function savingMore(a: Command | undefined, b: Command | undefined): Command | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return savingsMicroUsd(a) > savingsMicroUsd(b) ? a : b;
}

/** As many candidates as budgets and PodDisruptionBudgets allow together, the best saving first. */
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

/**
 * The command for the first n candidates, with the largest n that bisection finds. Undefined: there is none for two.
 */
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
    const found = yield* consolidateInSteps(candidates.slice(0, count), round);
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
