/**
 * Leaders: pods on a planned node of which one must be bound before a pod with affinity to them on the same host.
 * Without a leader the pod can be there only if it may be the first pod of its affinity.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { Variant } from "../batch/pod-class.ts";
import {
  type Place,
  possibleDomains,
  selects,
  type TopologyGroup,
} from "../topology/topology-group.ts";

/** Pods on the node of which one must be there before the variant's pod; empty: it needs none. */
export function leadersOf(
  pods: readonly Pod[],
  { hostRules }: Pick<Variant, "hostRules">,
): readonly Pod[] {
  const near = hostRules.filter(({ group }) => group.type === "affinity");
  // No pod of the affinity is elsewhere.
  if (near.every(({ group, self }) => self && group.perHost.size < 2)) return [];
  return pods.filter((pod) => near.every(({ group }) => isOf(group, pod)));
}

/** Whether the group counts every possible leader. */
export function isLedByOneOf(group: TopologyGroup, leaders: readonly Pod[]): boolean {
  return leaders.length > 0 && leaders.every((one) => isOf(group, one));
}

/**
 * Whether pods that wait on other planned nodes may raise the smallest count first. They cannot if minDomains keeps
 * that count at 0, or if they can only get the domain of this node.
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
