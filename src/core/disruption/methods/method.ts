/** What every disruption method looks like. Each has a file beside this one; all.ts has their order. */
import type { Steps } from "../../../base/steps.ts";
import type { Candidate, DisruptionClass } from "../candidates.ts";
import type { BalancedVerdict, Command, CommandReason } from "../command.ts";
import type { Round } from "../round.ts";

/** Why a candidate stays as it is, for an event on its Node and its claim. */
export interface Remark {
  readonly candidate: Candidate;
  /** `repairBlocked`: repair stops for the whole NodePool, which is told as well. */
  readonly about: "blocked" | "unconsolidatable" | "repairBlocked";
  readonly message: string;
}

/** Pools (by id) that share machines and whose nodes the method leaves for a later round. */
export interface Deferred {
  /** The command that waits; absent for `repacked`. */
  readonly command?: Command;
  readonly poolIds: ReadonlySet<string>;
  readonly until: DeferredUntil;
}

/**
 * `settled`: the pods that a consolidation moved have been on their new nodes for `consolidateAfter`.
 * `quiet`: more nodes of these pools are quiet, that is, no pod came or left for `consolidateAfter`.
 * `repacked`: repack saves much more on these pools and is asked in the same round.
 */
export type DeferredUntil = "settled" | "quiet" | "repacked";

/** A method's answer. arbiter.ts decides what becomes of it. */
export interface Proposal {
  /** Empty: the method has nothing to do. */
  readonly commands: readonly Command[];
  /** What the method could do but leaves for a later round; absent: nothing. */
  readonly deferred?: readonly Deferred[];
  /** Groups of pools (by id) that the commands are about: other groups are served first the next time. */
  readonly servedPools?: readonly ReadonlySet<string>[];
  readonly remarks: readonly Remark[];
  /** Moves that a Balanced pool refused; for metrics. */
  readonly refused?: readonly BalancedVerdict[];
  /** True if a method that usually needs no simulation had to simulate for this answer. */
  readonly hasSimulated?: boolean;
}

/** Why a command no longer holds. upstream: the reasons of failed validations */
export type ValidationFailure = "budget" | "scheduling" | "churn";

export interface Method {
  readonly name: string;
  readonly reason: CommandReason;
  readonly consolidationType: Command["consolidationType"];
  readonly disruptionClass: DisruptionClass;
  /** The method simulates candidates. arbiter.ts asks it less often. */
  readonly simulates: boolean;
  /** All its commands wait for validation. arbiter.ts does not ask it while another command waits. */
  readonly needsValidation: boolean;
  /** Whether the method is about this candidate at all; counted in the metric of eligible nodes. */
  isEligible(candidate: Candidate, nowMs: number): boolean;
  /** Goes through the candidates until it finds something to do. */
  propose(round: Round): Steps<Proposal>;
  /** The part of a command that is still valid after its wait, or why none is. `round` holds fresh facts. */
  validate(command: Command, round: Round): Steps<Command | ValidationFailure>;
}

/** For methods whose commands begin at once. */
export function* unchanged(command: Command): Steps<Command> {
  yield;
  return command;
}

/** More would be judged too late: each node takes several requests, and the next command starts from their result. */
const EMPTY_NODES_PER_COMMAND = 500;

/** Splits nodes that are removed together into lists, one for each command. */
export function inCommands(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  const lists: (readonly Candidate[])[] = [];
  for (let from = 0; from < candidates.length; from += EMPTY_NODES_PER_COMMAND)
    lists.push(candidates.slice(from, from + EMPTY_NODES_PER_COMMAND));
  return lists;
}

/** Simulating the move of this number of pods takes 1 ms, and 20 ms the first time. */
const PODS_PER_RUN = 64;

/** Splits the candidates into runs of about `podsPerRun` pods, in their order. */
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
