/** What every way of disrupting nodes looks like: a file each beside this one, in order in all.ts. */
import type { PodDisruptionBudget } from "../../../apis/policy/kinds.ts";
import type { PoolAllowance } from "../budgets.ts";
import type { Candidate, DisruptionClass } from "../candidates.ts";
import type { Command, CommandReason } from "../command.ts";
import type { Simulator } from "../simulate.ts";

export interface MethodInput {
  readonly nowMs: number;
  /** By node name. */
  readonly candidates: readonly Candidate[];
  /** By pool id, for the method's reason. */
  readonly allowances: ReadonlyMap<string, PoolAllowance>;
  readonly pdbs: readonly PodDisruptionBudget[];
  /** The cluster without some of its nodes. */
  readonly simulator: Simulator;
  readonly spotToSpot: boolean;
  /** A used node of an alpha pool is being replaced: alpha does one at a time. */
  readonly alphaBusy: boolean;
}

/** Why a candidate stays as it is, for an event on its Node and its claim. */
export interface Remark {
  readonly candidate: Candidate;
  readonly about: "blocked" | "unconsolidatable";
  readonly message: string;
}

export interface Proposal {
  /** None: nothing to do this way. */
  readonly commands: readonly Command[];
  readonly remarks: readonly Remark[];
}

/** Why a command no longer holds. upstream: the reasons of failed validations */
export type Rejection = "budget" | "scheduling" | "churn";

export interface Method {
  readonly name: string;
  readonly reason: CommandReason;
  readonly consolidationType: Command["consolidationType"];
  readonly disruptionClass: DisruptionClass;
  /** Simulates each candidate: not asked again while nothing has changed that could matter. */
  readonly costly: boolean;
  /** Whether the method is about this candidate at all: the metric of eligible nodes. */
  isEligible(candidate: Candidate, nowMs: number): boolean;
  propose(input: MethodInput): Proposal;
  /** What is left of a command once its wait is over, or why nothing is. `input` is fresh. */
  validate(command: Command, input: MethodInput): Command | Rejection;
}

/** Takes candidates as the budgets of their pools allow: one `take` after the other counts. */
export function budgetCounter(allowances: MethodInput["allowances"]): {
  take(candidate: Candidate): boolean;
} {
  const left = new Map([...allowances].map(([id, { allowed }]) => [id, allowed]));
  return {
    take: ({ pool }) => {
      const allowed = left.get(pool.id) ?? 0;
      left.set(pool.id, allowed - 1);
      return allowed > 0;
    },
  };
}
