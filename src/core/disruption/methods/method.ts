/** The interface of every disruption method. Each method has a file beside this one; all.ts lists them in order. */
import type { Steps } from "../../../base/steps.ts";
import type { Candidate, DisruptionClass } from "../candidates.ts";
import type { BalancedVerdict, Command, CommandReason } from "../command.ts";
import type { Round } from "../round.ts";

/** Why a candidate is not disrupted, for an event on its Node and its claim. */
export interface Remark {
  readonly candidate: Candidate;
  /** `repairBlocked`: no node of the whole NodePool is repaired, so the NodePool gets an event, too. */
  readonly about: "blocked" | "unconsolidatable" | "repairBlocked";
  readonly message: string;
}

/** A command, or pools, that a method leaves for later: for a later round, or for repack in the same round. */
export interface Deferred {
  /** The command that is deferred. Absent for `repacked`. */
  readonly command?: Command;
  /** Ids of the pools, whose pods may share nodes. */
  readonly poolIds: ReadonlySet<string>;
  readonly until: DeferredUntil;
}

/**
 * What a deferred command waits for:
 * - `settled`: the pods that a consolidation moved have been on their new nodes for `consolidateAfter`.
 * - `quiet`: more nodes of these pools are quiet, which means that no pod was added or removed for `consolidateAfter`.
 * - `repacked`: repack, which runs later in the same round, saves much more on these pools.
 */
export type DeferredUntil = "settled" | "quiet" | "repacked";

/** The proposal of a method in a round. arbiter.ts decides which commands begin. */
export interface Proposal {
  /** The commands that the method proposes. Empty: it found nothing to do. */
  readonly commands: readonly Command[];
  /** The nodes that the method leaves for a later round. Absent: none. */
  readonly deferred?: readonly Deferred[];
  /** The groups of pools (by id) of the commands. In the next round, other groups come first. */
  readonly servedPools?: readonly ReadonlySet<string>[];
  readonly remarks: readonly Remark[];
  /** Verdicts of pools with the policy Balanced that refused a move. For metrics. */
  readonly refused?: readonly BalancedVerdict[];
  /** Whether a method that usually needs no simulation has simulated this time. */
  readonly hasSimulated?: boolean;
}

/** Why a command is no longer valid. upstream: the reasons of failed validations */
export type ValidationFailure = "budget" | "scheduling" | "churn";

export interface Method {
  readonly name: string;
  readonly reason: CommandReason;
  readonly consolidationType: Command["consolidationType"];
  readonly disruptionClass: DisruptionClass;
  /**
   * Whether the method simulates the cluster without its candidates, which takes time. Such a method runs less often.
   */
  readonly simulates: boolean;
  /** Whether the method does not run while a command waits for validation. Empty nodes are removed independently. */
  readonly needsValidation: boolean;
  /**
   * Whether the method is about this candidate, whatever budgets say. The metric of eligible nodes counts such
   * candidates.
   */
  isEligible(candidate: Candidate, nowMs: number): boolean;
  /** Goes through the candidates until it finds commands. */
  propose(round: Round): Steps<Proposal>;
  /** The part of a command that is still valid after its wait, or why no part of it is. `round`: fresh facts. */
  validate(command: Command, round: Round): Steps<Command | ValidationFailure>;
}

/** The validation of methods whose commands begin immediately: the command is always valid. */
export function* unchanged(command: Command): Steps<Command> {
  yield;
  return command;
}

/**
 * The most nodes that one command removes without replacements. With more, the next round would start before it ends.
 */
const EMPTY_NODES_PER_COMMAND = 500;

/** Splits nodes that are removed together into lists, one for each command. */
export function inCommands(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  const lists: (readonly Candidate[])[] = [];
  for (let from = 0; from < candidates.length; from += EMPTY_NODES_PER_COMMAND)
    lists.push(candidates.slice(from, from + EMPTY_NODES_PER_COMMAND));
  return lists;
}

/** The default size of a run, in pods. Simulating the move of so many pods takes 1 ms, or 20 ms the first time. */
const PODS_PER_RUN = 64;

/** Splits the candidates, in order, into runs with about `podsPerRun` pods each. A caller yields after each run. */
export function* inRuns(
  candidates: readonly Candidate[],
  podsPerRun = PODS_PER_RUN,
): Iterable<readonly Candidate[]> {
  let start = 0;
  let pods = 0;
  for (const [index, { reschedulablePods }] of candidates.entries()) {
    pods += 1 + reschedulablePods.length;
    if (pods < podsPerRun) continue;
    yield candidates.slice(start, index + 1);
    start = index + 1;
    pods = 0;
  }
  if (start < candidates.length) yield candidates.slice(start);
}
