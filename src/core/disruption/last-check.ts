/**
 * The last check of a command, right before its first write to the cluster. Since it was planned, a node may be gone or
 * blocked, new pods may run on it, or budgets may be used up. The check simulates nothing, so it is fast.
 * upstream: pkg/controllers/disruption/validation.go
 */
import { type Candidate, isEmpty } from "./candidates.ts";
import type { Command } from "./command.ts";
import { budgetCounter } from "./counters.ts";
import type { Method, ValidationFailure } from "./methods/method.ts";
import { mostAtOnce } from "./methods/static-drift.ts";
import type { Round } from "./round.ts";

/**
 * The command, if all its nodes may still be disrupted, or else why it fails. Of empty nodes, some are enough. `round`:
 * fresh facts, at least about the command's nodes.
 */
export function lastCheck(
  command: Command,
  { isEligible }: Pick<Method, "isEligible">,
  { nowMs, facts, budgets, holdOffs }: Round,
): Command | ValidationFailure {
  const { candidates, replacements, targets } = command;
  const planned = new Map(candidates.map((one) => [one.node.name, one]));
  const still = facts.candidates.filter((one) => {
    const before = planned.get(one.node.name);
    return before !== undefined && isEligible(one, nowMs) && hasNoNewPods(one, before);
  });
  const counter = budgetCounter(budgets.allowances);
  const allowed = still.filter((one) => counter.take(one));
  if (allowed.length < candidates.length) {
    if (candidates.every(isEmpty) && allowed.length > 0) return { ...command, candidates: allowed };
    return still.length < candidates.length ? "churn" : "budget";
  }
  if (replacements.some(({ pool }) => holdOffs.backingOff.has(pool.id))) return "scheduling";
  // A drifted static node is removed first only if its pool is complete: all replicas initialized, none leaving.
  const removedFirst = replacements.length === 0 ? allowed : [];
  const isShort = ({ pool }: Candidate) =>
    command.reason === "Drifted" &&
    pool.replicas !== undefined &&
    mostAtOnce(pool, facts.nodes).nodes === 0;
  if (removedFirst.some(isShort)) return "scheduling";
  const names = new Set(targets);
  const staying = facts.nodes.filter(({ name, deleting }) => names.has(name) && !deleting);
  return staying.length < names.size ? "scheduling" : command;
}

/** Whether no pod was added to the node. The plan has a place only for pods that were on the node before. */
function hasNoNewPods({ reschedulablePods }: Candidate, before: Candidate): boolean {
  if (reschedulablePods === before.reschedulablePods) return true;
  const planned = new Set(before.reschedulablePods.map(({ metadata }) => metadata.uid));
  return reschedulablePods.every(({ metadata }) => planned.has(metadata.uid));
}
