/** What every way of disrupting nodes looks like: a file each beside this one, in order in all.ts. */
import type { Pod } from "../../../apis/core/pod.ts";
import type { PodDisruptionBudget } from "../../../apis/policy/kinds.ts";
import type { Steps } from "../../../base/steps.ts";
import type { PlannerOptions } from "../../planner/planner-options.ts";
import type { PlannedClaim } from "../../provisioning/result.ts";
import type { NodeView } from "../../state/node-view.ts";
import type { PoolTotals } from "../balanced.ts";
import type { PoolAllowance } from "../budgets.ts";
import type { Candidate, DisruptionClass } from "../candidates.ts";
import type { ForSpot } from "../cheaper.ts";
import type { Command, CommandReason, Objection, Verdict } from "../command.ts";
import type { Simulator } from "../simulate.ts";

export interface Repack {
  readonly planner: PlannerOptions;
  /** Of the price of what goes. */
  readonly minSavingsPercent: number;
}

export interface MethodInput {
  readonly nowMs: number;
  /** By node name. */
  readonly candidates: readonly Candidate[];
  /** The whole cluster, by name. */
  readonly nodes: readonly NodeView[];
  /**
   * That many new nodes of a static pool (by id) in the place of those named, fewer where there is no room
   * for them; undefined when nobody keeps the pool at its size: the gate is off, or it is not ready.
   */
  readonly planStatic: (
    poolId: string,
    count: number,
    instead: readonly string[],
  ) => readonly PlannedClaim[] | undefined;
  /** By pool id, for the method's reason. */
  readonly allowances: ReadonlyMap<string, PoolAllowance>;
  readonly pdbs: readonly PodDisruptionBudget[];
  /** The cluster without some of its nodes. */
  readonly simulator: Simulator;
  /** Those of these nodes' pods that leave only after another of their workload runs: no drain ends without. */
  readonly keptPods: (candidates: readonly Candidate[]) => ReadonlySet<Pod>;
  /** What Balanced pools cost and hold in all, by pool id; made when first asked for. */
  readonly balancedTotals: () => ReadonlyMap<string, PoolTotals>;
  /** Why a consolidation is left for later, whatever it saves. */
  readonly objection: (command: Command) => Objection | undefined;
  /** What may come in the place of nodes that are all spot. */
  readonly forSpot: ForSpot;
  /** How several nodes may be packed anew on several others; absent: not at all. */
  readonly repack: Repack | undefined;
  /** Pods that a consolidation moved are coming to rest on nodes of these pools (by id). */
  readonly isSettling: (poolIds: ReadonlySet<string>) => Steps<boolean>;
  /** For how long these pools (by id) may still be waited for where nodes of theirs could go along in a moment. */
  readonly patienceMs: (poolIds: ReadonlySet<string>) => number;
  /** When a command about these pools (by id) was proposed last; 0: never. */
  readonly lastTurnMs: (poolIds: ReadonlySet<string>) => number;
  /** It came in place of others so short a time ago that it is not replaced itself. */
  readonly rests: (candidate: Candidate) => boolean;
  /** The last repack of its pool did not save what it was to: no other one for a while. */
  readonly poolRests: (candidate: Candidate) => boolean;
  /** What several nodes packed anew must save of their price, as a share. */
  readonly wantedShare: (candidates: readonly Candidate[]) => number;
  /** A used node of an alpha pool is being replaced: alpha does one at a time. */
  readonly alphaBusy: boolean;
  /** Pools whose replacements failed a moment ago: no new ones of theirs until then. */
  readonly backingOff: ReadonlyMap<string, number>;
}

/** Why a candidate stays as it is, for an event on its Node and its claim. */
export interface Remark {
  readonly candidate: Candidate;
  readonly about: "blocked" | "unconsolidatable";
  readonly message: string;
}

/** A command that is left for later, and the pools (by id) that share machines with those of its nodes. */
export interface Later {
  readonly command: Command;
  readonly poolIds: ReadonlySet<string>;
  readonly until: Until;
}

/**
 * What is waited for: `settled`: pods that were moved a moment ago have come to rest; `quiet`: nothing has happened
 * on other nodes for as long as their pool asks for.
 */
export type Until = "settled" | "quiet";

export interface Proposal {
  /** None: nothing to do this way. */
  readonly commands: readonly Command[];
  /** There is one, but what another method has is better by far: it is to be asked. */
  readonly waived?: boolean;
  /** There are these, but in a moment there may be better ones. */
  readonly later?: readonly Later[];
  /** Which pools (by id) have had their turn with the commands. */
  readonly turns?: readonly ReadonlySet<string>[];
  readonly remarks: readonly Remark[];
  /** Moves that a pool's policy refused; for metrics. */
  readonly refused?: readonly Verdict[];
  /** Of a method that is not costly as a rule: this answer was, and is the same while nothing has changed that could matter. */
  readonly costly?: boolean;
}

/** Why a command no longer holds. upstream: the reasons of failed validations */
export type Rejection = "budget" | "scheduling" | "churn";

export interface Method {
  readonly name: string;
  readonly reason: CommandReason;
  readonly consolidationType: Command["consolidationType"];
  readonly disruptionClass: DisruptionClass;
  /** Simulates candidates: not asked again while nothing has changed that could matter. */
  readonly costly: boolean;
  /** All its commands wait for a second look: not asked while another one waits. */
  readonly waits: boolean;
  /** Whether the method is about this candidate at all: the metric of eligible nodes. */
  isEligible(candidate: Candidate, nowMs: number): boolean;
  /** Looks at every candidate until it finds something to do; in steps, for there may be many. */
  propose(input: MethodInput): Steps<Proposal>;
  /** What is left of a command once its wait is over, or why nothing is. `input` is fresh. */
  validate(command: Command, input: MethodInput): Command | Rejection;
  /** The same, where it takes long. */
  validateInSteps?(command: Command, input: MethodInput): Steps<Command | Rejection>;
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
export function budgetCounter(allowances: MethodInput["allowances"]): {
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
