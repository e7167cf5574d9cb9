/**
 * Decides which pods of a node are evicted next while it is drained, and whether the drain has ended. Pods are evicted
 * in four groups, one after the other: non-critical pods, non-critical daemons, critical pods, critical daemons. A pod
 * whose grace period would end after the deadline of the node is deleted instead, even if a PodDisruptionBudget or
 * annotation protects it.
 * upstream: pkg/controllers/node/termination/terminator/terminator.go
 */
import { isOwnedByDaemonSet, type Pod } from "../../apis/core/pod.ts";
import { isWaitingEviction } from "../../apis/core/pod-predicates.ts";
import { fromRfc3339 } from "../../base/clock.ts";

/** The pods of a node, and its deadline. */
export interface DrainInput {
  readonly nowMs: number;
  /** All pods bound to the node. */
  readonly pods: readonly Pod[];
  /** The end of the claim's terminationGracePeriod. Undefined: there is no deadline. */
  readonly deadlineMs: number | undefined;
}

/** What the drain does next. */
export interface Drain {
  /** Pods to evict or delete now ({@link mustDelete}), sorted by creation time, then key. */
  readonly evict: readonly Pod[];
  /** Pods of later groups, in the same order. */
  readonly later: readonly Pod[];
  /** How many pods the drain still waits for. 0: the node is drained. */
  readonly waiting: number;
}

const CRITICAL_CLASSES = ["system-cluster-critical", "system-node-critical"];

/** The next step of a drain. */
export function drain(input: DrainInput): Drain {
  const waiting = input.pods
    .filter((pod) => isWaitingEviction(pod, input.nowMs))
    .toSorted(byAgeThenKey);
  const overdue = waiting.filter((pod) => mustDelete(pod, input.deadlineMs, input.nowMs));
  const others = waiting.filter((pod) => !overdue.includes(pod));
  const tier = Math.min(...others.map(tierOf));
  return {
    evict: [...overdue, ...others.filter((pod) => tierOf(pod) === tier)],
    later: others.filter((pod) => tierOf(pod) !== tier),
    waiting: waiting.length,
  };
}

/**
 * Whether the pod must be deleted instead of evicted, so that the node keeps its deadline. That is so if the pod's
 * grace period would end after the deadline, or if the pod was deleted with such a grace period.
 */
export function mustDelete(pod: Pod, deadlineMs: number | undefined, nowMs: number): boolean {
  if (deadlineMs === undefined) return false;
  const deletionMs = fromRfc3339(pod.metadata.deletionTimestamp);
  if (deletionMs !== undefined) return deletionMs > deadlineMs;
  return nowMs > deadlineMs - gracePeriodMs(pod);
}

function gracePeriodMs(pod: Pod): number {
  return (pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000;
}

function tierOf(pod: Pod): number {
  const critical = CRITICAL_CLASSES.includes(pod.spec.priorityClassName ?? "");
  return (critical ? 2 : 0) + (isOwnedByDaemonSet(pod) ? 1 : 0);
}

function byAgeThenKey(a: Pod, b: Pod): number {
  const created = (pod: Pod): string => pod.metadata.creationTimestamp ?? "";
  const key = (pod: Pod): string => `${pod.metadata.namespace}/${pod.metadata.name}`;
  if (created(a) !== created(b)) return created(a) < created(b) ? -1 : 1;
  return key(a) < key(b) ? -1 : 1;
}
