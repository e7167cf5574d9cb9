/**
 * How a node with several ailments is repaired. Replacing comes before rebooting, then the higher priority decides,
 * then the ailment that was due first. The time limit of the drain is the shortest of all ailments that are due.
 * upstream: pkg/controllers/disruption/repair.go, pkg/controllers/node/health/policy.go
 */
import { compareText } from "../../base/text-order.ts";
import type { RepairAction } from "../cloudprovider/repair-policy.ts";
import type { Ailment } from "./ailments.ts";

export interface Treatment {
  readonly action: RepairAction;
  /** The ailment that decides how the node is repaired. */
  readonly ailment: Ailment;
  /** The longest time that the drain may take. Absent: no policy sets it, so the claim's own limit counts. */
  readonly graceMs?: number;
}

/** The repair that is due now. Undefined: none is due. */
export function treatmentOf(ailments: readonly Ailment[], nowMs: number): Treatment | undefined {
  const due = ailments.filter(({ dueMs }) => dueMs <= nowMs);
  const [first] = due.toSorted(byUrgency);
  if (first === undefined) return undefined;
  const graces = due.flatMap(({ policy }) => policy.terminationGracePeriodMs ?? []);
  return {
    action: first.policy.action,
    ailment: first,
    ...(graces.length === 0 ? {} : { graceMs: Math.min(...graces) }),
  };
}

/** The ailment that is due first. Undefined: there are none. */
export function firstDue(ailments: readonly Ailment[]): Ailment | undefined {
  return ailments.reduce<Ailment | undefined>(
    (first, one) => (first === undefined || one.dueMs < first.dueMs ? one : first),
    undefined,
  );
}

function byUrgency(a: Ailment, b: Ailment): number {
  const replaces = ({ policy }: Ailment) => (policy.action === "ReplaceNode" ? 0 : 1);
  return (
    replaces(a) - replaces(b) ||
    b.policy.priority - a.policy.priority ||
    a.dueMs - b.dueMs ||
    compareText(a.conditionType, b.conditionType)
  );
}

const MINUTES_PER_RANK = 30;

/**
 * How urgent the repair of each node is, in the order of `all`. For an ailment, it is the rank of its priority among
 * all due ailments, plus the overdue time in half hours. The ailment with the highest value counts for a node. It is 0
 * for nodes without a due ailment.
 */
export function urgencies(all: readonly (readonly Ailment[])[], nowMs: number): readonly number[] {
  const due = all.map((ailments) => ailments.filter(({ dueMs }) => dueMs <= nowMs));
  const priorities = [...new Set(due.flat().map(({ policy }) => policy.priority))].sort(
    (a, b) => a - b,
  );
  const rank = new Map(priorities.map((priority, index) => [priority, index]));
  return due.map((ailments) =>
    Math.max(
      0,
      ...ailments.map(
        ({ policy, dueMs }) =>
          (rank.get(policy.priority) ?? 0) + (nowMs - dueMs) / 60_000 / MINUTES_PER_RANK,
      ),
    ),
  );
}
