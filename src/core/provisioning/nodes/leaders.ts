/**
 * Leaders: pods on a planned node that another pod requires on its host by affinity. One of the leaders must be bound
 * before that pod. A pod without leaders can join the node only if it may be the first pod of its affinity.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { Variant } from "../batch/pod-class.ts";
import {
  type Place,
  possibleDomains,
  selects,
  type TopologyGroup,
} from "../topology/topology-group.ts";

/**
 * The leaders of a pod with these host rules: one of them must be bound before the pod. Empty: the pod needs no leader.
 */
export function leadersOf(
  pods: readonly Pod[],
  { hostRules }: Pick<Variant, "hostRules">,
): readonly Pod[] {
  const near = hostRules.filter(({ group }) => group.type === "affinity");
  // No other host has pods of this affinity, so the pod may be the first one itself.
  if (near.every(({ group, self }) => self && group.perHost.size < 2)) return [];
  return pods.filter((pod) => near.every(({ group }) => isOf(group, pod)));
}

/** Whether the group counts all of the leaders, so whichever of them is bound first is counted. */
export function isLedByOneOf(group: TopologyGroup, leaders: readonly Pod[]): boolean {
  return leaders.length > 0 && leaders.every((one) => isOf(group, one));
}

/**
 * Whether the group's smallest count may rise because of pods that wait on other planned nodes. It cannot if minDomains
 * keeps that count at 0, or if all these pods must go to the domain of this node.
 */
export function isLiftedElsewhere(group: TopologyGroup, here: Place): boolean {
  if (group.counts.size < group.minDomains) return false;
  const own = possibleDomains(group, here);
  return group.waitedOn.some((place) => {
    if (place === here || (place.waiting?.(group) ?? 0) === 0) return false;
    return own.length !== 1 || possibleDomains(group, place).some((one) => one !== own[0]);
  });
}

function isOf(group: TopologyGroup, { metadata }: Pod): boolean {
  const { namespace = "default", labels = {} } = metadata;
  return selects(group, namespace, labels);
}
