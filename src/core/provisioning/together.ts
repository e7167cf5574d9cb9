/**
 * Pods that need each other bind their kind to the host, or the zone, that the first of them gets. The largest pods of
 * a batch come first and nodes fill up, so that other pods may take the room which the last of the kind needs. A plan
 * can place such kinds ahead of all other pods, and with them those that only prefer to be with their kind.
 */
import { eachInSteps, type Steps } from "../../base/steps.ts";
import type { PodClass } from "./batch/pod-class.ts";
import type { QueuedPod } from "./batch/queue.ts";
import { type Pass, place } from "./place.ts";
import type { TopologyGroup } from "./topology/topology-group.ts";

const PODS_PER_STEP = 8_192;
const TRIES_PER_STEP = 64;

/** The rules of pods that need each other, of which some are among `left`. */
export function* kindsOf(
  queued: readonly QueuedPod[],
  left: ReadonlySet<QueuedPod["pod"]>,
): Steps<ReadonlySet<TopologyGroup>> {
  const kinds = new Set<TopologyGroup>();
  if (left.size === 0) return kinds;
  yield* eachInSteps(queued, PODS_PER_STEP, ({ pod, podClass }) => {
    const kind = left.has(pod) ? kindOf(podClass) : undefined;
    if (kind !== undefined) kinds.add(kind);
  });
  return kinds;
}

/** Undefined: the pod neither needs nor prefers to be with its own kind. */
function kindOf({ variants: [asWritten] }: PodClass): TopologyGroup | undefined {
  return asWritten?.rules.find(({ self, group }) => self && group.type === "affinity")?.group;
}

/** Places these kinds, and returns all who have no place yet, in order but for those of them that found none. */
export function* placedTogether(
  pass: Pass,
  queued: readonly QueuedPod[],
  kinds: ReadonlySet<TopologyGroup>,
): Steps<readonly QueuedPod[]> {
  const byKind = new Map<TopologyGroup, QueuedPod[]>();
  const rest: QueuedPod[] = [];
  yield* eachInSteps(queued, PODS_PER_STEP, (item) => {
    const kind = kindOf(item.podClass);
    if (kind === undefined || !kinds.has(kind)) rest.push(item);
    else if (byKind.has(kind)) byKind.get(kind)?.push(item);
    else byKind.set(kind, [item]);
  });
  const failed: QueuedPod[] = [];
  for (const items of byKind.values()) {
    yield;
    const left: QueuedPod[] = [];
    yield* eachInSteps(items, TRIES_PER_STEP, (item) => {
      if (place(pass, item) !== "placed") left.push(item);
    });
    failed.push(...left);
  }
  return [...failed, ...rest];
}
