/**
 * Drift and expiration: nodes whose claims have the condition Drifted or Expired are replaced, even if that costs more.
 * Empty nodes are removed together, nodes with pods one at a time, the oldest condition first.
 * upstream: pkg/controllers/disruption/drift.go, expiration.go at v0.36
 */
import { condition, isTrue } from "../../../apis/karpenter/conditions.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import { type Candidate, isEmpty } from "../candidates.ts";
import { type Command, removal } from "../command.ts";
import { type NoCommand, replacementBackOff } from "../consolidation.ts";
import { budgetCounter } from "../counters.ts";
import type { Round } from "../round.ts";
import { fitsIntoOwnUnit } from "../terminate-first.ts";
import { inCommands, type Method, type Proposal, type Remark, unchanged } from "./method.ts";

/** Replaces nodes that no longer match their NodePool or node class. Nodes of static pools: static-drift.ts. */
export const drift = replacing("drift", "Drifted");

/**
 * Replaces nodes past their lifetime, within budgets: of v1alpha5 and v1beta1, and of v1 if the operator's settings say
 * so. Otherwise an expired v1 claim is deleted immediately (controllers/nodeclaim/expiration.ts).
 */
export const expiration = replacing("expiration", "Expired");

/** The method that replaces nodes for this reason. The condition has the same name as the reason. */
function replacing(name: string, reason: "Drifted" | "Expired"): Method {
  const isEligible = ({ claim, pool }: Candidate) =>
    pool.replicas === undefined && isTrue(claim, reason);
  const sinceMs = ({ claim }: Candidate) =>
    fromRfc3339(condition(claim, reason)?.lastTransitionTime) ?? 0;
  const deletions = (candidates: readonly Candidate[]): readonly Command[] =>
    (["alpha", "beta", "v1"] as const).flatMap((generation) =>
      inCommands(candidates.filter((one) => one.generation === generation)).map((some) =>
        removal(some, { reason, via: name }),
      ),
    );

  function* propose(round: Round): Steps<Proposal> {
    const budgets = budgetCounter(round.budgets.allowances);
    const eligible = yield* filterInSteps(round.facts.candidates, isEligible);
    const sorted = eligible.sort(
      (a, b) => sinceMs(a) - sinceMs(b) || (a.node.name < b.node.name ? -1 : 1),
    );
    const empty = sorted.filter((one) => isEmpty(one) && budgets.take(one));
    if (empty.length > 0) return { commands: deletions(empty), remarks: [] };
    const remarks: Remark[] = [];
    for (const candidate of sorted) {
      const { generation } = candidate;
      if (isEmpty(candidate) || budgets.left(candidate) <= 0) continue;
      if (generation === "alpha" && round.facts.alphaBusy) continue;
      yield;
      const [deletion] = deletions([candidate]) as [Command];
      const found = withReplacements(deletion, round);
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
    simulates: true,
    needsValidation: false,
    isEligible,
    propose,
    validate: unchanged,
  };
}

/**
 * The command with the new nodes that its pods need, or the hold-off or back-off because of which it must not begin
 * now.
 */
export function withReplacements(deletion: Command, round: Round): Command | NoCommand {
  const { holdOffs, settings } = round;
  const mayGoFirst = deletion.reason === "Drifted" && settings.terminateFirst.drift;
  const command = withNewNodes(deletion, round, mayGoFirst);
  if ("message" in command || command.terminateFirst !== undefined) return command;
  const holdOff = holdOffs.of(command);
  return holdOff === undefined ? command : { kind: "restraint", ...holdOff };
}

/**
 * The command with the new nodes that its pods need. Or why there is none: some pods have no place, or a pool launches
 * no replacements now. Without other places, pods may use the room of CapacityBuffers. `mayGoFirst`: whether a single
 * node may be removed before its replacement is launched, so that the replacement gets its unit of a capacity
 * reservation.
 */
export function withNewNodes(
  deletion: Command,
  { facts: { simulator }, holdOffs }: Round,
  mayGoFirst: boolean,
): Command | NoCommand {
  const { candidates } = deletion;
  const planned = simulator.without(candidates);
  const simulation =
    planned.unplaced.length === 0 ? planned : simulator.withoutRoom().without(candidates);
  const { replacements, targets, placements, unplaced } = simulation;
  if (unplaced.length === 0) {
    const pools = replacements.map(({ pool }) => pool);
    const command = { ...deletion, replacements, targets, placements };
    return replacementBackOff(pools, holdOffs) ?? command;
  }
  const [only, ...others] = candidates;
  if (mayGoFirst && only !== undefined && others.length === 0 && fitsIntoOwnUnit(only, simulator))
    return { ...deletion, terminateFirst: "no-reserved-capacity" };
  return { kind: "noPlace", message: `not all pods would schedule, ${unplaced.join("; ")}` };
}
