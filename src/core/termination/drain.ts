/**
 * What to evict next from a node that leaves, and whether it may end. Pods go in four tiers, each only
 * when the one before is gone: non-critical, non-critical daemons, critical, critical daemons. Pods
 * whose time would outlast the node's deadline are deleted, whatever guards them.
 * upstream: pkg/controllers/node/termination/terminator/terminator.go
 */
import { isOwnedByDaemonSet, type Pod } from "../../apis/core/pod.ts";
import { isWaitingEviction } from "../../apis/core/pod-predicates.ts";
import { fromRfc3339 } from "../../base/clock.ts";

export interface DrainInput {
  readonly nowMs: number;
  /** All pods bound to the node. */
  readonly pods: readonly Pod[];
  /** End of the claim's termination grace period; undefined = as long as it takes. */
  readonly deadlineMs: number | undefined;
}

export interface Drain {
  /** To be handed to the eviction queue now, by creation, then key. */
  readonly evict: readonly Pod[];
  /** Those of later tiers, in the same order: they wait for those before them. */
  readonly later: readonly Pod[];
  /** How many pods are still waited for. 0: drained. */
  readonly waiting: number;
}

const CRITICAL_CLASSES = ["system-cluster-critical", "system-node-critical"];

export function drain(input: DrainInput): Drain {
  const waiting = input.pods
    .filter((pod) => isWaitingEviction(pod, input.nowMs))
    .toSorted(byAgeThenKey);
  const late = waiting.filter((pod) => mustDelete(pod, input.deadlineMs, input.nowMs));
  const others = waiting.filter((pod) => !late.includes(pod));
  const tier = Math.min(...others.map(tierOf));
  return {
    evict: [...late, ...others.filter((pod) => tierOf(pod) === tier)],
    later: others.filter((pod) => tierOf(pod) !== tier),
    waiting: waiting.length,
  };
}

/**
 * Whether the pod must be deleted rather than evicted for the node to meet its deadline: its own grace
 * period would end after it, or somebody deleted it with too long a grace.
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
