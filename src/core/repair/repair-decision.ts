/**
 * Chooses the repair of a node with several broken conditions, and rates how urgent the repair of each node is. The
 * condition that decides is, in this order: one that needs a replacement, the one with the higher priority, the one
 * that was due first. The time limit of the drain is the shortest limit of all conditions that are due.
 * upstream: pkg/controllers/disruption/repair.go, pkg/controllers/node/health/policy.go
 */
import { compareText } from "../../base/text-order.ts";
import type { RepairAction } from "../cloudprovider/repair-policy.ts";
import type { BrokenCondition } from "./broken-conditions.ts";

export interface RepairDecision {
  readonly action: RepairAction;
  /** The broken condition that decides how the node is repaired. */
  readonly condition: BrokenCondition;
  /**
   * The longest time that the drain may take. Absent: no policy limits it, so only the terminationGracePeriod of the
   * claim counts.
   */
  readonly graceMs?: number;
  /** The broken condition whose policy sets `graceMs`. */
  readonly graceOf?: BrokenCondition;
}

/** The repair of a node with these broken conditions. Undefined: none of them is due yet. */
export function repairDecision(
  conditions: readonly BrokenCondition[],
  nowMs: number,
): RepairDecision | undefined {
  const due = conditions.filter(({ dueMs }) => dueMs <= nowMs);
  const [first] = due.toSorted(byUrgency);
  if (first === undefined) return undefined;
  return { action: first.policy.action, condition: first, ...shortestGrace(due) };
}

/**
 * The shortest time limit of the drain, and the condition whose policy sets it. Of equal limits, that of the condition
 * that was due first.
 */
function shortestGrace(
  due: readonly BrokenCondition[],
): Pick<RepairDecision, "graceMs" | "graceOf"> {
  const graces = due.flatMap((graceOf) => {
    const { terminationGracePeriodMs: graceMs } = graceOf.policy;
    return graceMs === undefined ? [] : [{ graceMs, graceOf }];
  });
  const [shortest = {}] = graces.sort(
    (a, b) => a.graceMs - b.graceMs || a.graceOf.dueMs - b.graceOf.dueMs,
  );
  return shortest;
}

/**
 * The broken condition whose repair is due first, whether in the past or in the future. Undefined: the list is empty.
 */
export function firstDue(conditions: readonly BrokenCondition[]): BrokenCondition | undefined {
  return conditions.reduce<BrokenCondition | undefined>(
    (first, one) => (first === undefined || one.dueMs < first.dueMs ? one : first),
    undefined,
  );
}

function byUrgency(a: BrokenCondition, b: BrokenCondition): number {
  const actionRank = ({ policy }: BrokenCondition) => (policy.action === "ReplaceNode" ? 0 : 1);
  return (
    actionRank(a) - actionRank(b) ||
    b.policy.priority - a.policy.priority ||
    a.dueMs - b.dueMs ||
    compareText(a.conditionType, b.conditionType)
  );
}

/** A repair that is overdue by this many minutes counts as one rank of priority more urgent. */
const MINUTES_PER_RANK = 30;

/**
 * How urgent the repair of each node is, in the order of `all`. Of each condition that is due, the rank of its priority
 * and its overdue time in half hours are added. The rank is 0 for the lowest priority among all nodes, 1 for the next
 * one. The largest sum counts for the node. A node without a condition that is due gets 0.
 */
export function urgencies(
  all: readonly (readonly BrokenCondition[])[],
  nowMs: number,
): readonly number[] {
  const due = all.map((conditions) => conditions.filter(({ dueMs }) => dueMs <= nowMs));
  const priorities = [...new Set(due.flat().map(({ policy }) => policy.priority))].sort(
    (a, b) => a - b,
  );
  const rank = new Map(priorities.map((priority, index) => [priority, index]));
  return due.map((conditions) =>
    Math.max(
      0,
      ...conditions.map(
        ({ policy, dueMs }) =>
          (rank.get(policy.priority) ?? 0) + (nowMs - dueMs) / 60_000 / MINUTES_PER_RANK,
      ),
    ),
  );
}
