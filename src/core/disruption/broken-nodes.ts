/**
 * What the disruption loop needs to know about broken nodes: the conditions whose repair is due, how the node is
 * repaired, and what forbids or delays that. Which conditions are broken is decided in core/repair.
 * upstream: pkg/controllers/disruption/repair.go
 */
import type { Node } from "../../apis/core/node.ts";
import { DO_NOT_REPAIR_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { parseDuration } from "../../base/duration.ts";
import type { RepairAction, RepairPolicy } from "../cloudprovider/repair-policy.ts";
import type { BrokenCondition } from "../repair/broken-conditions.ts";
import { isRebootedTooOften } from "../repair/reboots.ts";
import { type RepairDecision, repairDecision } from "../repair/repair-decision.ts";
import { brokenConditionsIn } from "../repair/survey.ts";
import type { NodeView } from "../state/node-view.ts";

/** The rules of node repair in this cluster. */
export interface RepairRules {
  readonly policies: readonly RepairPolicy[];
  /** Why the brake (core/safety/brake.ts) stops all terminations that nobody requested. Absent: it is off. */
  readonly braked?: string | undefined;
}

/** The facts about a broken node that node repair needs. */
export interface BrokenNode {
  /** The broken conditions that have lasted long enough to be repaired. At least one. */
  readonly conditions: readonly BrokenCondition[];
  /** Whether an annotation forbids the repair. */
  readonly isForbidden: boolean;
  /**
   * Why a pod on the node cannot be evicted: a do-not-disrupt annotation or a PodDisruptionBudget. Undefined: all can.
   */
  readonly blocking: string | undefined;
}

/** How one node is repaired. */
export interface Repairing {
  readonly action: RepairAction;
  /** The broken condition because of which the node is repaired. */
  readonly condition: BrokenCondition;
  /** The longest time that the drain may take. Absent: no limit. */
  readonly graceMs?: number;
  /** The broken condition whose policy has the shortest time limit. Absent: no policy sets a limit. */
  readonly graceOf?: BrokenCondition;
  /** Whether the node is replaced although a reboot would be the remedy, because it was rebooted too often lately. */
  readonly isEscalated: boolean;
}

/** The broken conditions of the node that have lasted long enough to be repaired. */
export function dueConditions(
  view: NodeView,
  { repair, nowMs }: { readonly repair?: RepairRules | undefined; readonly nowMs: number },
): readonly BrokenCondition[] {
  if (repair === undefined) return [];
  return brokenConditionsIn(view, repair.policies).filter(({ dueMs }) => dueMs <= nowMs);
}

/** Whether an annotation on the claim or the Node forbids the repair. Upstream reads only the Node. */
export function isRepairForbidden(claim: NodeClaim, node: Node | undefined): boolean {
  const key = DO_NOT_REPAIR_ANNOTATION_KEY;
  return [claim, node].some((one) => one?.metadata.annotations?.[key] === "true");
}

/** How the claim's node is repaired, and how long its drain may take. `conditions`: at least one that is due. */
export function repairOf(
  claim: NodeClaim,
  conditions: readonly BrokenCondition[],
  nowMs: number,
): Repairing {
  const decision = repairDecision(conditions, nowMs) as RepairDecision;
  const isEscalated = decision.action === "RebootNode" && isRebootedTooOften(claim, nowMs);
  const own = parseDuration(claim.spec.terminationGracePeriod ?? "");
  const bounds = [decision.graceMs, own].filter((one) => one !== undefined);
  return {
    action: isEscalated ? "ReplaceNode" : decision.action,
    condition: decision.condition,
    ...(decision.graceOf === undefined ? {} : { graceOf: decision.graceOf }),
    ...(bounds.length === 0 ? {} : { graceMs: Math.min(...bounds) }),
    isEscalated,
  };
}
