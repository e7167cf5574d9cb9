/**
 * How a node with several broken conditions is repaired. Replacing comes before rebooting, then the higher priority
 * decides, then the broken condition that was due first. The time limit of the drain is the shortest of all due
 * conditions.
 * upstream: pkg/controllers/disruption/repair.go, pkg/controllers/node/health/policy.go
 */
import { compareText } from "../../base/text-order.ts";
import type { RepairAction } from "../cloudprovider/repair-policy.ts";
import type { BrokenCondition } from "./broken-conditions.ts";

export interface RepairDecision {
  readonly action: RepairAction;
  /** The broken condition that decides how the node is repaired. */
  readonly condition: BrokenCondition;
  /** The longest time that the drain may take. Absent: no policy sets it, so the claim's own limit counts. */
  readonly graceMs?: number;
  /** The broken condition whose policy sets `graceMs`. */
  readonly graceOf?: BrokenCondition;
}

/** The repair that is due now. Undefined: none is due. */
export function repairDecision(
  conditions: readonly BrokenCondition[],
  nowMs: number,
): RepairDecision | undefined {
  const due = conditions.filter(({ dueMs }) => dueMs <= nowMs);
  const [first] = due.toSorted(byUrgency);
  if (first === undefined) return undefined;
  return { action: first.policy.action, condition: first, ...shortestGrace(due) };
}

/** The shortest time limit of a drain. Of equal ones, that of the condition that was due first. */
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

/** The broken condition that is due first. Undefined: there are none. */
export function firstDue(conditions: readonly BrokenCondition[]): BrokenCondition | undefined {
  return conditions.reduce<BrokenCondition | undefined>(
    (first, one) => (first === undefined || one.dueMs < first.dueMs ? one : first),
    undefined,
  );
}

function byUrgency(a: BrokenCondition, b: BrokenCondition): number {
  const replaces = ({ policy }: BrokenCondition) => (policy.action === "ReplaceNode" ? 0 : 1);
  return (
    replaces(a) - replaces(b) ||
    b.policy.priority - a.policy.priority ||
    a.dueMs - b.dueMs ||
    compareText(a.conditionType, b.conditionType)
  );
}

const MINUTES_PER_RANK = 30;

/**
 * How urgent the repair of each node is, in the order of `all`. For a broken condition, it is the rank of its priority
 * among all due conditions, plus the overdue time in half hours. The broken condition with the highest value counts for
 * a node. It is 0 for nodes without a due condition.
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
