/** What every way of disrupting nodes looks like: a file each beside this one, in order in all.ts. */
import type { DisruptionReason } from "../../../apis/karpenter/nodepool.ts";
import type { PoolAllowance } from "../budgets.ts";
import type { Candidate, DisruptionClass } from "../candidates.ts";
import type { Command } from "../command.ts";

export interface MethodInput {
  readonly nowMs: number;
  /** By node name. */
  readonly candidates: readonly Candidate[];
  /** By pool id, for the method's reason. */
  readonly allowances: ReadonlyMap<string, PoolAllowance>;
}

export interface Method {
  readonly name: string;
  readonly reason: DisruptionReason;
  readonly consolidationType: Command["consolidationType"];
  readonly disruptionClass: DisruptionClass;
  /** Whether the method is about this candidate at all: the metric of eligible nodes. */
  isEligible(candidate: Candidate, nowMs: number): boolean;
  /** None: nothing to do this way. */
  commands(input: MethodInput): readonly Command[];
  /**
   * What is left of a command once its wait is over; undefined when it no longer holds. `input` is fresh.
   */
  validate(command: Command, input: MethodInput): Command | undefined;
}
