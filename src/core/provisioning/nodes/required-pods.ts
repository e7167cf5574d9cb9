/**
 * Required pods: pods on a planned node that another pod requires on its host by affinity. One of them must be bound
 * before that pod.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { Variant } from "../batch/pod-class.ts";
import {
  type NodePlace,
  possibleDomains,
  selects,
  type TopologyGroup,
} from "../topology/topology-group.ts";

/**
 * Those of `pods`, all on one planned node, of which one must be bound before a pod with these rules over hosts. Empty:
 * the pod has no affinity over hosts, may be the first of its affinities, or no pod of the node satisfies them all.
 */
export function requiredPodsOn(
  pods: readonly Pod[],
  { hostRules }: Pick<Variant, "hostRules">,
): readonly Pod[] {
  const near = hostRules.filter(({ group }) => group.type === "affinity");
  // No other host has pods of this affinity, so the pod may be the first one itself.
  if (near.every(({ group, self }) => self && group.perHost.size < 2)) return [];
  return pods.filter((pod) => near.every(({ group }) => isOf(group, pod)));
}

/** Whether the group counts each of these pods, so whichever of them is bound first is counted. */
export function countsAllOf(group: TopologyGroup, pods: readonly Pod[]): boolean {
  return pods.length > 0 && pods.every((one) => isOf(group, one));
}

/**
 * Whether uncounted pods on other planned nodes (pods whose zone is not decided yet) may raise the smallest count of
 * this spread. They cannot if minDomains keeps it at 0, or if these pods must all go to the domain of this node.
 */
export function mayRiseElsewhere(group: TopologyGroup, here: NodePlace): boolean {
  if (group.counts.size < group.minDomains) return false;
  const own = possibleDomains(group, here);
  return group.uncountedOn.some((place) => {
    if (place === here || (place.uncounted?.(group) ?? 0) === 0) return false;
    return own.length !== 1 || possibleDomains(group, place).some((one) => one !== own[0]);
  });
}

function isOf(group: TopologyGroup, { metadata }: Pod): boolean {
  const { namespace = "default", labels = {} } = metadata;
  return selects(group, namespace, labels);
}
