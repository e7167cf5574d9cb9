/** The answer about an unhealthy node: its condition, what node repair will do and when, or why it does nothing. */

import { DO_NOT_REPAIR_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { isRebooting } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { grouped } from "../../base/counted.ts";
import { formatDuration } from "../../base/duration.ts";
import { atOnce } from "../../base/steps.ts";
import type { RepairAction, RepairPolicy } from "../cloudprovider/repair-policy.ts";
import { isRepairForbidden, repairOf } from "../disruption/broken-nodes.ts";
import type { Picture } from "../disruption/make-round.ts";
import { isTooMany } from "../repair/breaker.ts";
import { unhealthyCondition } from "../repair/legacy-repair.ts";
import { firstDue } from "../repair/repair-decision.ts";
import { brokenConditionsIn, causeMessage, causeOf, survey } from "../repair/survey.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Owned } from "./owned-node.ts";

/** The repair policies of the cloud, whether the feature gate `NodeRepair` is on, and which controller repairs. */
export interface Repairs {
  readonly policies: readonly RepairPolicy[];
  readonly isOn: boolean;
  /**
   * Whether the older node repair (`--legacy-node-repair`) is used, which deletes broken nodes without regard to
   * budgets.
   */
  readonly isLegacy: boolean;
}

/** What is wrong with a node, and what node repair will do. */
export interface RepairAnswer {
  readonly says: string;
  /** The type of the Node's condition. `status` and `since` are those of this condition. */
  readonly condition: string;
  readonly status: string;
  readonly since: string;
  /** The reason of the condition. Absent: it has none. */
  readonly reason?: string;
  /** When the repair is due, as RFC 3339. Absent: the feature gate is off. */
  readonly due?: string;
  /** What node repair will do. Absent: the feature gate is off. */
  readonly action?: RepairAction;
  /** Whether the repair waits because too many nodes are broken, or because broken nodes share a cause. */
  readonly heldBack: boolean;
  /** What most broken nodes have in common. Absent: nothing. */
  readonly cause?: { readonly kind: string; readonly value: string };
}

/**
 * The answer about the node's health. Undefined: it has no condition that node repair acts on, or it is being deleted.
 */
export function repairAnswer(
  { nodes, nowMs }: Pick<Picture, "nodes" | "nowMs">,
  { node: view, claim }: Pick<Owned, "node" | "claim">,
  { policies, isOn, isLegacy }: Repairs,
): RepairAnswer | undefined {
  if (view.node === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  const find = (one: NodeView) => firstRepairOf(one, { policies, isLegacy, nowMs });
  const found = find(view);
  if (found === undefined) return undefined;
  const { conditionType, conditionStatus, reason, action, graceMs } = found;
  const neighbours = nodes.filter(
    ({ node, poolId }) =>
      node !== undefined && (view.poolId === undefined || poolId === view.poolId),
  );
  const broken = neighbours.filter((one) => find(one) !== undefined).length;
  const tooMany = isOn && isTooMany(broken, neighbours.length);
  const isSurveyed = isOn && !isLegacy;
  const cause = isSurveyed ? causeOf(view, atOnce(survey(nodes, policies)).causes) : undefined;
  const since = toRfc3339(found.sinceMs);
  const due = toRfc3339(found.dueMs);
  const when = found.dueMs <= nowMs ? "now" : `at ${due}`;
  const bound = graceMs === undefined ? "" : `, with ${formatDuration(graceMs)} for its drain`;
  // A node that was never initialized is repaired without regard to budgets.
  const allowed = view.initialized ? ", if the disruption budgets for Unhealthy allow it" : "";
  const verb = action === "RebootNode" ? "reboots" : "replaces";
  const why = !isOn
    ? "node repair is off (feature gate NodeRepair)"
    : isRebooting(claim)
      ? "node repair is rebooting it"
      : !isLegacy && isRepairForbidden(claim, view.node)
        ? `${DO_NOT_REPAIR_ANNOTATION_KEY} keeps node repair from it`
        : cause !== undefined
          ? `node repair, due ${due}, stops itself: ${causeMessage(cause)}`
          : tooMany
            ? `node repair, due ${due}, waits while more than 20 % of the nodes are unhealthy (${grouped(broken)} of ${grouped(neighbours.length)})`
            : isLegacy
              ? `node repair terminates it ${when}`
              : `node repair ${verb} it ${when}${allowed}${bound}`;
  return {
    says: `${conditionType} is ${conditionStatus} since ${since}: ${why}`,
    condition: conditionType,
    status: conditionStatus,
    since,
    ...(reason === "" ? {} : { reason }),
    ...(isOn ? { due, action } : {}),
    heldBack: tooMany || cause !== undefined,
    ...(cause === undefined ? {} : { cause: { kind: cause.kind, value: cause.value } }),
  };
}

/** The condition of a node whose repair is due first, and how the node is repaired. */
interface FirstRepair {
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly reason: string;
  readonly sinceMs: number;
  readonly dueMs: number;
  readonly action: RepairAction;
  readonly graceMs?: number;
}

function firstRepairOf(
  view: NodeView,
  {
    policies,
    isLegacy,
    nowMs,
  }: Pick<Repairs, "policies" | "isLegacy"> & { readonly nowMs: number },
): FirstRepair | undefined {
  if (isLegacy) {
    const found = view.node === undefined ? undefined : unhealthyCondition(view.node, policies);
    return found && { ...found, reason: "", action: "ReplaceNode" };
  }
  const conditions = brokenConditionsIn(view, policies);
  const first = firstDue(conditions);
  if (first === undefined || view.claim === undefined) return undefined;
  const { condition: decisive, ...repair } = repairOf(
    view.claim,
    conditions,
    Math.max(nowMs, first.dueMs),
  );
  return { ...decisive, ...repair };
}
