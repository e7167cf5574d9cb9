/**
 * Events about nodes that are drained or repaired, and about their evicted pods. An event with the same `dedupeValues`,
 * mostly namespace and name of the object, is not repeated for some time.
 * upstream: pkg/controllers/node/termination/terminator/events
 */
import type { Node } from "../../apis/core/node.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { type KubeObject, keyOf } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { UnhealthyCondition } from "../../core/repair/legacy-repair.ts";
import type { EventToPublish } from "../../kube/events/events.ts";

const REPAIR_BLOCKED_MS = 15 * 60_000;

/** The event that a pod is evicted for `reason`, such as `Empty` or `Forceful Termination`. */
export function evicted(pod: Pod, reason: string): EventToPublish {
  return {
    object: pod,
    type: "Normal",
    reason: "Evicted",
    message: `Evicted pod: ${reason}`,
    dedupeValues: [keyOf(pod)],
  };
}

/**
 * The event that a pod is deleted instead of evicted, because it would run longer than the node's deadline allows.
 * upstream: pkg/controllers/node/termination/terminator/events.
 */
export function disrupted(pod: Pod, deadlineMs: number, grantedSeconds: number): EventToPublish {
  const at = toRfc3339(deadlineMs).replace("T", " ").replace("Z", " +0000 UTC");
  const asked = pod.spec.terminationGracePeriodSeconds ?? 30;
  return {
    object: pod,
    type: "Normal",
    reason: "Disrupted",
    message:
      `Deleting the pod to accommodate the terminationTime ${at} of the node. ` +
      `The pod was granted ${grantedSeconds} seconds of grace-period of its ${asked} terminationGracePeriodSeconds. ` +
      "This bypasses the PDB of the pod and the do-not-disrupt annotation.",
    dedupeValues: [keyOf(pod)],
  };
}

/** The event that the drain of a node is not complete, and why. */
export function failedDraining(node: Node, why: string): EventToPublish {
  return {
    object: node,
    type: "Warning",
    reason: "FailedDraining",
    message: `Failed to drain node, ${why}`,
    dedupeValues: [node.metadata.name],
  };
}

/** The event that volumes are still attached to the node. It names some of them. */
export function awaitingVolumeDetachment(
  node: Node,
  attachments: readonly string[],
): EventToPublish {
  const shown = attachments.slice(0, 5).join(", ");
  return {
    object: node,
    type: "Normal",
    reason: "AwaitingVolumeDetachment",
    message: `Awaiting deletion of bound volumeattachments (${shown})`,
    dedupeValues: [node.metadata.name],
  };
}

/** Events that node repair is blocked. Published on the Node, its claim, and its pool if it has one. */
export function repairBlocked(
  objects: readonly KubeObject[],
  message: string,
): readonly EventToPublish[] {
  return objects.map((object) => ({
    object,
    type: "Warning",
    reason: "NodeRepairBlocked",
    message,
    dedupeValues: [object.metadata.name, message],
    dedupeMs: REPAIR_BLOCKED_MS,
  }));
}

/**
 * Events that a node will be repaired. Published once for each unhealthy condition, on the Node and its claim;
 * karpenter-ts only.
 */
export function repairPending(
  objects: readonly KubeObject[],
  { conditionType, conditionStatus, sinceMs, dueMs }: UnhealthyCondition,
): readonly EventToPublish[] {
  const message =
    `${conditionType} is ${conditionStatus} since ${toRfc3339(sinceMs)}: ` +
    `node repair ends the node at ${toRfc3339(dueMs)} unless it recovers`;
  return objects.map((object) => ({
    object,
    type: "Warning",
    reason: "NodeRepairPending",
    message,
    dedupeValues: [object.metadata.name, message],
    // The event is not repeated until the repair is due.
    dedupeMs: dueMs - sinceMs,
  }));
}

/** The event that a node is drained with a deadline, and that pods left at the time `at` will be deleted. */
export function deadlineNear(node: Node, at: string): EventToPublish {
  return {
    object: node,
    type: "Warning",
    reason: "TerminationGracePeriodExpiring",
    message: `All pods will be deleted by ${at}`,
    dedupeValues: [node.metadata.name],
  };
}
