/**
 * Candidates of node repair: their ailments, and what a repair must respect.
 * upstream: pkg/controllers/disruption/repair.go
 */
import type { Node } from "../../apis/core/node.ts";
import { DO_NOT_REPAIR_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { parseDuration } from "../../base/duration.ts";
import type { RepairAction, RepairPolicy } from "../cloudprovider/repair-policy.ts";
import type { Ailment } from "../repair/ailments.ts";
import { isRebootedTooOften } from "../repair/reboots.ts";
import { ailmentsIn } from "../repair/survey.ts";
import { type Treatment, treatmentOf } from "../repair/treatment.ts";
import type { NodeView } from "../state/node-view.ts";

/** How node repair works in this cluster. */
export interface RepairRules {
  readonly policies: readonly RepairPolicy[];
  /** Why the brake stops all involuntary ends. Absent: the brake is off. */
  readonly braked?: string | undefined;
}

/** A broken node, as repair sees it. */
export interface Patient {
  /** At least one ailment; all are due. */
  readonly ailments: readonly Ailment[];
  /** A person forbids its repair. */
  readonly isVetoed: boolean;
  /** What keeps a pod there; undefined: nothing. */
  readonly blocking: string | undefined;
}

/** What node repair does with one node. */
export interface Repairing {
  readonly action: RepairAction;
  /** The ailment that decides. */
  readonly ailment: Ailment;
  /** The longest time of the drain; absent: no limit. */
  readonly graceMs?: number;
  /** A reboot would be due, but the node was rebooted too often of late. */
  readonly isEscalated: boolean;
}

/** Ailments of the node that are due. */
export function dueAilments(
  view: NodeView,
  { repair, nowMs }: { readonly repair?: RepairRules | undefined; readonly nowMs: number },
): readonly Ailment[] {
  if (repair === undefined) return [];
  return ailmentsIn(view, repair.policies).filter(({ dueMs }) => dueMs <= nowMs);
}

/** Upstream reads the Node only; there the annotation of a claim counts if it was there at registration. */
export function isRepairForbidden(claim: NodeClaim, node: Node | undefined): boolean {
  const key = DO_NOT_REPAIR_ANNOTATION_KEY;
  return [claim, node].some((one) => one?.metadata.annotations?.[key] === "true");
}

/** How the node of the claim is repaired, and how long its drain may take. */
export function repairOf(claim: NodeClaim, ailments: readonly Ailment[], nowMs: number): Repairing {
  const treatment = treatmentOf(ailments, nowMs) as Treatment;
  const isEscalated = treatment.action === "RebootNode" && isRebootedTooOften(claim, nowMs);
  const own = parseDuration(claim.spec.terminationGracePeriod ?? "");
  const bounds = [treatment.graceMs, own].filter((one) => one !== undefined);
  return {
    action: isEscalated ? "ReplaceNode" : treatment.action,
    ailment: treatment.ailment,
    ...(bounds.length === 0 ? {} : { graceMs: Math.min(...bounds) }),
    isEscalated,
  };
}
