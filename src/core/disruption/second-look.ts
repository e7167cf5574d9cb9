/**
 * A command that is about to start, looked at once more. Others had their turns while it was worked out: by
 * now a node may be gone or held, have got pods that the plan knows nothing of, or budgets may be spent.
 * Nothing is simulated anew, so it costs next to nothing however large the cluster is.
 * upstream: pkg/controllers/disruption/validation.go looks at the nodes once more too
 */
import type { Candidate } from "./candidates.ts";
import type { Command } from "./command.ts";
import { budgetCounter, type Method, type Rejection } from "./methods/method.ts";
import { mostAtOnce } from "./methods/static-drift.ts";
import type { Round } from "./round.ts";

/**
 * The command, if all its nodes may still go, or why not; of empty nodes those that still may. `now`: fresh,
 * of the command's nodes at least.
 */
export function stillGoing(
  command: Command,
  { isEligible }: Pick<Method, "isEligible">,
  now: Round,
): Command | Rejection {
  const { candidates, replacements, targets } = command;
  const before = new Map(candidates.map((one) => [one.node.name, one]));
  const still = now.candidates.filter((one) => {
    const was = before.get(one.node.name);
    return was !== undefined && isEligible(one, now.nowMs) && hasNoOthers(one, was);
  });
  const budgets = budgetCounter(now.allowances);
  const going = still.filter((one) => budgets.take(one));
  if (going.length < candidates.length) {
    const areEmpty = candidates.every(({ reschedulablePods }) => reschedulablePods.length === 0);
    if (areEmpty && going.length > 0) return { ...command, candidates: going };
    return still.length < candidates.length ? "churn" : "budget";
  }
  if (replacements.some(({ pool }) => now.backingOff.has(pool.id))) return "scheduling";
  // Of a static pool one goes before another comes only while no other of its nodes is missing, or to be soon.
  const unreplaced = replacements.length === 0 ? going : [];
  const isShort = ({ pool }: Candidate) =>
    pool.replicas !== undefined && mostAtOnce(pool, now.nodes).nodes === 0;
  if (unreplaced.some(isShort)) return "scheduling";
  const names = new Set(targets);
  const staying = now.nodes.filter(({ name, deleting }) => names.has(name) && !deleting);
  return staying.length < names.size ? "scheduling" : command;
}

/** Whether all pods that would have to move are pods that the plan has a place for. */
function hasNoOthers({ reschedulablePods }: Candidate, was: Candidate): boolean {
  if (reschedulablePods === was.reschedulablePods) return true;
  const planned = new Set(was.reschedulablePods.map(({ metadata }) => metadata.uid));
  return reschedulablePods.every(({ metadata }) => planned.has(metadata.uid));
}
