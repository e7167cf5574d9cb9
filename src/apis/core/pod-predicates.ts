/**
 * Questions about one pod: is it running, may it be moved, does it need a node. upstream:
 * pkg/utils/pod/scheduling.go
 */
import { fromRfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import {
  DISRUPTED_NO_SCHEDULE_TAINT,
  DISRUPTION_NO_SCHEDULE_TAINT,
  DO_NOT_DISRUPT_ANNOTATION_KEY,
  DO_NOT_EVICT_ANNOTATION_KEY,
} from "../karpenter/labels.ts";
import {
  isActive,
  isOwnedByDaemonSet,
  isOwnedByNode,
  isOwnedByStatefulSet,
  isTerminal,
  isTerminating,
  type Pod,
} from "./pod.ts";
import { tolerates } from "./tolerations.ts";

/** A pod that still exists this long after its grace period counts as stuck: its node is probably gone. */
const STUCK_TERMINATING_MS = 60_000;

/** Whether the pod needs another node when its own is removed. */
export function isReschedulable(pod: Pod): boolean {
  const comesBack = isActive(pod) || (isTerminating(pod) && isOwnedByStatefulSet(pod));
  return comesBack && !isTerminal(pod) && !isOwnedByDaemonSet(pod) && !isOwnedByNode(pod);
}

/**
 * Whether the pod tolerates the taint of a node that is drained. Such a pod is not evicted, and the drain does not wait
 * for it.
 */
function toleratesDisruption(pod: Pod): boolean {
  return (
    tolerates(pod.spec.tolerations, DISRUPTED_NO_SCHEDULE_TAINT) ||
    tolerates(pod.spec.tolerations, DISRUPTION_NO_SCHEDULE_TAINT)
  );
}

/** Whether the pod's grace period ended more than a minute ago, and the pod still exists. */
function isStuckTerminating(pod: Pod, nowMs: number): boolean {
  const deletionMs = fromRfc3339(pod.metadata.deletionTimestamp);
  return deletionMs !== undefined && nowMs - deletionMs > STUCK_TERMINATING_MS;
}

/** Whether a drain evicts this pod. */
export function isDrainable(pod: Pod, nowMs: number): boolean {
  return !toleratesDisruption(pod) && !isStuckTerminating(pod, nowMs) && !isOwnedByNode(pod);
}

/** Whether a drain must wait for this pod. */
export function isWaitingEviction(pod: Pod, nowMs: number): boolean {
  return !isTerminal(pod) && isDrainable(pod, nowMs);
}

/** What a pod's do-not-disrupt annotation means now. An invalid one is reported and otherwise ignored. */
export type DoNotDisrupt =
  | { readonly kind: "none" }
  | { readonly kind: "always" }
  | { readonly kind: "until"; readonly untilMs: number }
  | { readonly kind: "elapsed"; readonly untilMs: number }
  | { readonly kind: "invalid"; readonly why: string };

/**
 * Reads the annotation: `true`, or a positive duration that counts from the pod's start. Before the start the duration
 * is not over. The annotation do-not-evict of v1alpha5 has the same effect if it is `true`.
 */
export function doNotDisrupt(pod: Pod, nowMs: number): DoNotDisrupt {
  const annotations = pod.metadata.annotations;
  if (annotations?.[DO_NOT_EVICT_ANNOTATION_KEY] === "true") return { kind: "always" };
  const text = annotations?.[DO_NOT_DISRUPT_ANNOTATION_KEY];
  if (text === undefined || text === "false") return { kind: "none" };
  if (text === "true") return { kind: "always" };
  const graceMs = parseDuration(text);
  if (graceMs === undefined) return { kind: "invalid", why: `"${text}" is no duration` };
  if (graceMs <= 0) return { kind: "invalid", why: `"${text}" is not positive` };
  const startMs = fromRfc3339(pod.status?.startTime);
  if (startMs === undefined) return { kind: "always" };
  const untilMs = startMs + graceMs;
  return { kind: nowMs < untilMs ? "until" : "elapsed", untilMs };
}

/**
 * Whether the pod's annotation forbids the disruption of its node now. A duration in it counts from the pod's start.
 */
export function hasDoNotDisrupt(pod: Pod, nowMs: number): boolean {
  const { kind } = doNotDisrupt(pod, nowMs);
  return kind === "always" || kind === "until";
}

/** Whether the condition Ready is True. */
export function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false
  );
}
