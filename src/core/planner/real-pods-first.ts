/**
 * Plans the placeholder pods of CapacityBuffers together with stored pods (pods that exist in the API server), so that
 * they share nodes. Placeholders must not take room from a stored pod, so some batches are planned again.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Steps } from "../../base/steps.ts";
import { isBufferPod } from "../buffers/pods.ts";
import type { SchedulingResult, UnschedulablePod } from "../provisioning/result.ts";
import { requiredOf } from "../scheduling/pod-requirements.ts";

/**
 * Plans all pods, then corrects two cases:
 * - A stored pod has no place, but gets one without the buffers. Then the buffers wait for a later pass.
 * - A stored pod with a required pod affinity has a place only beside a buffer's pod. kube-scheduler sees no such pod,
 *   so the stored pod is reported as unschedulable.
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
  const besideBuffersOnly = waiting.filter(({ pod }) => needsOthers(pod) && !known.has(keyOf(pod)));
  if (besideBuffersOnly.length === 0) return all;
  const keys = new Set(besideBuffersOnly.map(({ pod }) => keyOf(pod)));
  const rest = yield* plan(pods.filter((pod) => !keys.has(keyOf(pod))));
  return { ...rest, unschedulable: [...rest.unschedulable, ...besideBuffersOnly] };
}

/** Stored pods that were planned and have no place. Pods that were refused before planning (`ignored`) do not count. */
function waitingIn({ unschedulable }: SchedulingResult): readonly UnschedulablePod[] {
  return unschedulable.filter(({ pod, ignored }) => ignored !== true && !isBufferPod(pod));
}

/** Whether the pod requires other pods near it (required pod affinity). */
function needsOthers({ spec }: Pod): boolean {
  return requiredOf(spec.affinity?.podAffinity).length > 0;
}
