/**
 * Places affinity groups first: pods that require or prefer to be near each other. The first pod of a group decides the
 * host or zone of all. Otherwise large pods may take the room that the rest of the group needs there.
 */
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import type { PodClass } from "./batch/pod-class.ts";
import type { QueuedPod } from "./batch/queue.ts";
import { type Pass, place } from "./place.ts";
import type { TopologyGroup } from "./topology/topology-group.ts";

/** The topology groups of the pod affinity of those queued pods that are in `left`. */
export function* affinityGroupsOf(
  queued: readonly QueuedPod[],
  left: ReadonlySet<QueuedPod["pod"]>,
): Steps<ReadonlySet<TopologyGroup>> {
  const groups = new Set<TopologyGroup>();
  if (left.size === 0) return groups;
  yield* eachInSteps(queued, ({ pod, podClass }) => {
    const group = left.has(pod) ? affinityGroupOf(podClass) : undefined;
    if (group !== undefined) groups.add(group);
  });
  return groups;
}

/** The pod's first affinity rule, required or preferred, that selects pods like itself. Undefined: it has none. */
function affinityGroupOf({ variants: [asWritten] }: PodClass): TopologyGroup | undefined {
  return asWritten?.rules.find(({ self, group }) => self && group.type === "affinity")?.group;
}

/** Places the pods of these groups. Returns the pods that are not placed, those of the groups first. */
export function* placeAffinityGroups(
  pass: Pass,
  queued: readonly QueuedPod[],
  groups: ReadonlySet<TopologyGroup>,
): Steps<readonly QueuedPod[]> {
  const byGroup = new Map<TopologyGroup, QueuedPod[]>();
  const rest: QueuedPod[] = [];
  yield* eachInSteps(queued, (item) => {
    const group = affinityGroupOf(item.podClass);
    if (group === undefined || !groups.has(group)) rest.push(item);
    else within(byGroup, group, () => []).push(item);
  });
  const failed: QueuedPod[] = [];
  for (const items of byGroup.values()) {
    yield;
    yield* eachInSteps(items, (item) => {
      if (place(pass, item) !== "placed") failed.push(item);
    });
  }
  return [...failed, ...rest];
}
