/**
 * What drift and replacing expiry have in common: nodes whose claim has a condition go, empty ones all at
 * once, used ones one by one, oldest condition first, each after its pods' new nodes are there. Price
 * does not matter. upstream: pkg/controllers/disruption/drift.go, expiration.go at v0.36
 */
import { condition } from "../../../apis/karpenter/conditions.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import type { Candidate } from "../candidates.ts";
import type { Command, CommandReason } from "../command.ts";
import { lastFailed, type Staying, triedAgainMs } from "../consolidation.ts";
import type { Round } from "../round.ts";
import {
  budgetCounter,
  inCommands,
  LOOKED_AT_PER_STEP,
  type Method,
  type Proposal,
  type Remark,
} from "./method.ts";

const NODES_PER_STEP = 8;

export interface ReplacingOptions {
  readonly name: string;
  readonly reason: CommandReason;
  readonly conditionType: "Drifted" | "Expired";
}

export function replacing({ name, reason, conditionType }: ReplacingOptions): Method {
  const isEligible = ({ claim, pool }: Candidate) =>
    pool.replicas === undefined && condition(claim, conditionType)?.status === "True";
  const sinceMs = ({ claim }: Candidate) =>
    fromRfc3339(condition(claim, conditionType)?.lastTransitionTime) ?? 0;

  function* propose(round: Round): Steps<Proposal> {
    const budgets = budgetCounter(round.allowances);
    const eligible = yield* filterInSteps(round.candidates, LOOKED_AT_PER_STEP, isEligible);
    const marked = eligible.sort(
      (a, b) => sinceMs(a) - sinceMs(b) || (a.node.name < b.node.name ? -1 : 1),
    );
    const empty = marked.filter((one) => one.reschedulablePods.length === 0 && budgets.take(one));
    if (empty.length > 0) return { commands: byGeneration(empty, reason, name), remarks: [] };
    const remarks: Remark[] = [];
    const used = marked.filter(
      (one) => one.reschedulablePods.length > 0 && mayGo(one, round, budgets.left(one)),
    );
    for (const [index, candidate] of used.entries()) {
      if (index % NODES_PER_STEP === 0) yield;
      const [bare] = byGeneration([candidate], reason, name) as [Command];
      const found = replaced(bare, round);
      if (!("message" in found)) return { commands: [found], remarks };
      const { kind, message } = found;
      if (kind !== "backingOff") remarks.push({ candidate, about: "blocked", message });
    }
    return { commands: [], remarks };
  }

  return {
    name,
    reason,
    consolidationType: "",
    disruptionClass: "eventual",
    costly: true,
    waits: false,
    isEligible,
    propose,
    // Its commands do not wait.
    validate: (command) => command,
  };
}

/** With what its pods need elsewhere; or why they do not go now, whatever budgets say. */
export function replaced(bare: Command, round: Round): Command | Staying {
  const { replacements, targets, placements, homeless } = round.simulator.without(bare.candidates);
  if (homeless.length > 0)
    return { kind: "noPlace", message: `not all pods would schedule, ${homeless.join("; ")}` };
  const failing = replacements.find(({ pool }) => round.backingOff.has(pool.id));
  if (failing !== undefined) {
    const untilMs = triedAgainMs(replacements, round);
    return { kind: "backingOff", message: lastFailed(failing.pool.name), untilMs };
  }
  const command = { ...bare, replacements, targets, placements };
  const objection = round.objection(command);
  return objection === undefined ? command : { kind: "restraint", ...objection };
}

/** Whether budgets, and alpha's habit of doing one thing at a time, let a used node go. */
function mayGo({ generation }: Candidate, { alphaBusy }: Round, budget: number): boolean {
  return budget > 0 && !(generation === "alpha" && alphaBusy);
}

/** Deletions: commands of one generation each, of so many nodes at the most. */
function byGeneration(
  candidates: readonly Candidate[],
  reason: CommandReason,
  via: string,
): readonly Command[] {
  return (["alpha", "beta", "v1"] as const).flatMap((generation) =>
    inCommands(candidates.filter((one) => one.generation === generation)).map((going) => ({
      reason,
      consolidationType: "" as const,
      via,
      generation,
      candidates: going,
      replacements: [],
      targets: [],
      validateAfterMs: 0,
    })),
  );
}
