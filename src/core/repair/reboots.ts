/**
 * The reboots of a node, stored on its claim: when the last one ended, and when repair requested each. Upstream keeps
 * these times in memory and loses them at a restart.
 * upstream: pkg/controllers/disruption/repair_history.go
 */
import { condition } from "../../apis/karpenter/conditions.ts";
import { REBOOTS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { type NodeClaim, REBOOTING } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";

const REMEMBERED_MS = 24 * 60 * 60_000;
/** The most reboots of a node within a day. If it is broken again after that, it is replaced. */
const MOST_REBOOTS = 2;

/** When the node's last reboot ended, successfully or not. Undefined: it was never rebooted, or is rebooting now. */
export function rebootEndMs(claim: NodeClaim): number | undefined {
  const found = condition(claim, REBOOTING);
  return found?.status === "False" ? fromRfc3339(found.lastTransitionTime) : undefined;
}

/** Whether the node has already been rebooted as often as allowed within a day. */
export function isRebootedTooOften(claim: NodeClaim, nowMs: number): boolean {
  return rebootsOf(claim, nowMs).length >= MOST_REBOOTS;
}

/** The claim with a record of one more reboot, requested now. */
export function withReboot(claim: NodeClaim, nowMs: number): NodeClaim {
  const times = [...rebootsOf(claim, nowMs), nowMs].map(toRfc3339).join(",");
  const annotations = { ...claim.metadata.annotations, [REBOOTS_ANNOTATION_KEY]: times };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** The times of the reboots that repair requested in the last day. */
function rebootsOf({ metadata }: NodeClaim, nowMs: number): readonly number[] {
  const text = metadata.annotations?.[REBOOTS_ANNOTATION_KEY] ?? "";
  return text
    .split(",")
    .flatMap((time) => fromRfc3339(time) ?? [])
    .filter((atMs) => nowMs - atMs < REMEMBERED_MS);
}
