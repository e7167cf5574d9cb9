/**
 * Plans pods of CapacityBuffers together with stored pods (those in the API server), so that they share nodes. No
 * stored pod may be worse off for that. Plans more than once only if a stored pod has no place or needs other pods
 * beside it.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Steps } from "../../base/steps.ts";
import { isBufferPod } from "../buffers/pods.ts";
import type { SchedulingResult, UnschedulablePod } from "../provisioning/result.ts";

/**
 * - A stored pod without a place may need the room of a buffer: then the buffers wait for a later pass.
 * - A stored pod with an affinity may be planned beside a buffer's pod, which kube-scheduler does not know. Such a pod
 *   has no place.
 */
export function* realPodsFirst<T extends SchedulingResult>(
  pods: readonly Pod[],
  plan: (some: readonly Pod[]) => Steps<T>,
): Steps<T> {
  const all = yield* plan(pods);
  const buffered = pods.filter(isBufferPod);
  const stored = pods.filter((pod) => !isBufferPod(pod));
  const lacking = waitingIn(all).length;
  if (buffered.length === 0 || (lacking === 0 && !stored.some(needsOthers))) return all;
  const alone = yield* plan(stored);
  const waiting = waitingIn(alone);
  if (waiting.length < lacking) {
    const message = "pods that somebody created need the room";
    const later = buffered.map((pod) => ({ pod, message, pools: [] }));
    return { ...alone, unschedulable: [...alone.unschedulable, ...later] };
  }
  const known = new Set(waitingIn(all).map(({ pod }) => keyOf(pod)));
  const misled = waiting.filter(({ pod }) => needsOthers(pod) && !known.has(keyOf(pod)));
  if (misled.length === 0) return all;
  const keys = new Set(misled.map(({ pod }) => keyOf(pod)));
  const rest = yield* plan(pods.filter((pod) => !keys.has(keyOf(pod))));
  return { ...rest, unschedulable: [...rest.unschedulable, ...misled] };
}

/** Pods of the API server that the plan gives no place. */
function waitingIn({ unschedulable }: SchedulingResult): readonly UnschedulablePod[] {
  return unschedulable.filter(({ pod, ignored }) => ignored !== true && !isBufferPod(pod));
}

/** Whether the pod may only run near certain other pods. */
function needsOthers({ spec }: Pod): boolean {
  const required = spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (required ?? []).length > 0;
}
