/** Events of planning, on pods and pools. upstream: pkg/controllers/provisioning/scheduling/events.go */
import type { Pod } from "../../apis/core/pod.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { PlannedClaim } from "../../core/provisioning/result.ts";
import type { EventToPublish } from "../../kube/events/events.ts";

/** Event reason: a pod is no longer planned for the node that an earlier plan chose. karpenter-ts only. */
export const PLANNED_NODE_LOST = "PlannedNodeLost";
const FAILED_DEDUPE_MS = 5 * 60_000;
const NO_TYPES_DEDUPE_MS = 60_000;
/**
 * The rate of Nominated events. A plan for ten thousand pods must not write ten thousand events; some are enough to
 * show it.
 */
const NOMINATED_RATE = { perSecond: 5, burst: 10 } as const;

/** The event that a pod is planned on a node. `targets`: such as `nodeclaim/x`, `machine/x`, `node/y`. */
export function nominated(pod: Pod, targets: readonly string[]): EventToPublish {
  return {
    object: pod,
    type: "Normal",
    reason: "Nominated",
    message: `Pod should schedule on: ${targets.join(", ")}`,
    dedupeValues: [pod.metadata.uid ?? pod.metadata.name],
    rate: NOMINATED_RATE,
  };
}

/** The event that a pod would be planned on a new node, under `--observe-only`. karpenter-ts only. */
export function wouldBeNominated(pod: Pod, { pool, cheapest }: PlannedClaim): EventToPublish {
  return {
    object: pod,
    type: "Normal",
    reason: "Nominated",
    message: `Pod would be scheduled on a new node of ${pool.name}, such as ${cheapest.instanceType} in ${cheapest.zone}`,
    dedupeValues: [pod.metadata.uid ?? pod.metadata.name],
    rate: NOMINATED_RATE,
  };
}

/**
 * The event with the reason PlannedNodeLost. `targets`: as in {@link nominated}. `why`: a sentence without its full
 * stop. karpenter-ts only.
 */
export function plannedNodeLost(pod: Pod, targets: readonly string[], why: string): EventToPublish {
  return {
    object: pod,
    type: "Normal",
    reason: PLANNED_NODE_LOST,
    message: `Pod is no longer planned for ${targets.join(", ")}: ${why}`,
    dedupeValues: [pod.metadata.uid ?? pod.metadata.name, ...targets],
    rate: NOMINATED_RATE,
  };
}

/** An event on a pool for which no instance type can be launched for any pod. */
export function noCompatibleInstanceTypes(
  pool: KubeObject,
  lack: "types" | "minValues" = "types",
): EventToPublish {
  const why = lack === "minValues" ? " due to minValues incompatibility" : "";
  return {
    object: pool,
    type: "Warning",
    reason: "NoCompatibleInstanceTypes",
    message: `NodePool requirements filtered out all compatible available instance types${why}`,
    dedupeValues: [pool.metadata.uid ?? pool.metadata.name],
    dedupeMs: NO_TYPES_DEDUPE_MS,
  };
}

/** The event that a pod has no place in the plan. `why`: upstream's sentence. */
export function failedScheduling(pod: Pod, why: string): EventToPublish {
  return {
    object: pod,
    type: "Warning",
    reason: "FailedScheduling",
    message: `Failed to schedule pod, ${why}`,
    dedupeValues: [pod.metadata.uid ?? pod.metadata.name],
    dedupeMs: FAILED_DEDUPE_MS,
  };
}
