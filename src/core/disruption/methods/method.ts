/** What every disruption method looks like. Each has a file beside this one; all.ts has their order. */
import type { Steps } from "../../../base/steps.ts";
import type { Candidate, DisruptionClass } from "../candidates.ts";
import type { Command, CommandReason, Verdict } from "../command.ts";
import type { Round } from "../round.ts";

/** Why a candidate stays as it is, for an event on its Node and its claim. */
export interface Remark {
  readonly candidate: Candidate;
  readonly about: "blocked" | "unconsolidatable";
  readonly message: string;
}

/** Pools (by id) that share machines and whose nodes the method leaves for a later round. */
export interface Later {
  /** The command that waits; absent for `repacked`. */
  readonly command?: Command;
  readonly poolIds: ReadonlySet<string>;
  readonly until: Until;
}

/**
 * `settled`: the pods that a consolidation moved have been on their new nodes for `consolidateAfter`.
 * `quiet`: no pod came to or left other nodes of these pools for as long as their pool asks.
 * `repacked`: repack saves much more on these pools and is asked in the same round.
 */
export type Until = "settled" | "quiet" | "repacked";

/** A method's answer. arbiter.ts decides what becomes of it. */
export interface Proposal {
  /** Empty: the method has nothing to do. */
  readonly commands: readonly Command[];
  /** What the method could do but leaves for later; absent: nothing. */
  readonly later?: readonly Later[];
  /** Groups of pools (by id) that the commands are about: the arbiter asks for others first the next time. */
  readonly turns?: readonly ReadonlySet<string>[];
  readonly remarks: readonly Remark[];
  /** Moves that a pool's policy refused; for metrics. */
  readonly refused?: readonly Verdict[];
  /** True where a method that is cheap as a rule had to simulate for this answer. */
  readonly costly?: boolean;
}

/** Why a command no longer holds. upstream: the reasons of failed validations */
export type Rejection = "budget" | "scheduling" | "churn";

export interface Method {
  readonly name: string;
  readonly reason: CommandReason;
  readonly consolidationType: Command["consolidationType"];
  readonly disruptionClass: DisruptionClass;
  /** The method simulates candidates. arbiter.ts asks it less often. */
  readonly costly: boolean;
  /** All its commands wait for validation. arbiter.ts does not ask it while another command waits. */
  readonly waits: boolean;
  /** Whether the method is about this candidate at all: the metric of eligible nodes. */
  isEligible(candidate: Candidate, nowMs: number): boolean;
  /** Looks at every candidate until it finds something to do; in steps, for there may be many. */
  propose(round: Round): Steps<Proposal>;
  /** What is left of a command when its wait is over, or why nothing is. `round` holds fresh facts. */
  validate(command: Command, round: Round): Command | Rejection;
  /** The same, where it takes long. */
  validateInSteps?(command: Command, round: Round): Steps<Command | Rejection>;
}

/** Candidates that are only looked at before others get a turn. */
export const LOOKED_AT_PER_STEP = 1_024;

/** What is begun at once: each command writes to all of its nodes, and the next is judged on what came of that. */
const EMPTY_NODES_PER_COMMAND = 500;

/** Empty nodes that go together, in lists of as many as one command takes. */
export function inCommands(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  const lists: (readonly Candidate[])[] = [];
  for (let from = 0; from < candidates.length; from += EMPTY_NODES_PER_COMMAND)
    lists.push(candidates.slice(from, from + EMPTY_NODES_PER_COMMAND));
  return lists;
}

/** Pods moved before others get a turn: a millisecond's worth, and twenty where all of it is met for the first time. */
const PODS_PER_STEP = 64;

/** The candidates in runs of about so many pods, each a step of a sweep. */
export function* inRuns(
  candidates: readonly Candidate[],
  podsPerRun = PODS_PER_STEP,
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

/**
 * Takes candidates as the budgets of their pools and of the cluster allow: one `take` after the other
 * counts. `fits`: whether these could be taken together.
 */
export function budgetCounter(allowances: Round["allowances"]): {
  take(candidate: Candidate): boolean;
  left(candidate: Candidate): number;
  fits(candidates: readonly Candidate[]): boolean;
} {
  const own = new Map([...allowances].map(([id, { allowed }]) => [id, allowed]));
  let everywhere = [...allowances.values()][0]?.everywhere.allowed ?? 0;
  const left = ({ pool }: Candidate) => Math.min(own.get(pool.id) ?? 0, everywhere);
  return {
    left,
    fits: (candidates) => {
      const wanted = new Map<string, number>();
      for (const { pool } of candidates) wanted.set(pool.id, (wanted.get(pool.id) ?? 0) + 1);
      if (candidates.length > everywhere) return false;
      return [...wanted].every(([id, count]) => count <= (own.get(id) ?? 0));
    },
    take: (candidate) => {
      if (left(candidate) <= 0) return false;
      own.set(candidate.pool.id, (own.get(candidate.pool.id) ?? 0) - 1);
      everywhere--;
      return true;
    },
  };
}
