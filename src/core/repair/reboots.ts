/**
 * When a node was rebooted: the end of its last reboot, and each request of node repair within the last day. Both are
 * stored on the claim. Upstream keeps these times in memory and loses them at a restart.
 * upstream: pkg/controllers/disruption/repair_history.go
 */
import { condition } from "../../apis/karpenter/conditions.ts";
import { REBOOTS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { type NodeClaim, REBOOTING } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";

/** How long a request counts: one day. */
const REMEMBERED_MS = 24 * 60 * 60_000;
/**
 * The most reboots of a node within a day. If the node needs another reboot within that day, it is replaced instead.
 */
const MOST_REBOOTS = 2;

/** When the node's last reboot ended, successfully or not. Undefined: it was never rebooted, or is rebooting now. */
export function rebootEndMs(claim: NodeClaim): number | undefined {
  const found = condition(claim, REBOOTING);
  return found?.status === "False" ? fromRfc3339(found.lastTransitionTime) : undefined;
}

/**
 * Whether node repair has requested so many reboots of the node within the last day that it must not request another.
 */
export function isRebootedTooOften(claim: NodeClaim, nowMs: number): boolean {
  return rebootsOf(claim, nowMs).length >= MOST_REBOOTS;
}

/** The claim with the time of one more request (`nowMs`) in its annotation. Requests older than a day are removed. */
export function withReboot(claim: NodeClaim, nowMs: number): NodeClaim {
  const times = [...rebootsOf(claim, nowMs), nowMs].map(toRfc3339).join(",");
  const annotations = { ...claim.metadata.annotations, [REBOOTS_ANNOTATION_KEY]: times };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** When node repair requested reboots within the last day, in epoch milliseconds. */
function rebootsOf({ metadata }: NodeClaim, nowMs: number): readonly number[] {
  const text = metadata.annotations?.[REBOOTS_ANNOTATION_KEY] ?? "";
  return text
    .split(",")
    .flatMap((time) => fromRfc3339(time) ?? [])
    .filter((atMs) => nowMs - atMs < REMEMBERED_MS);
}
