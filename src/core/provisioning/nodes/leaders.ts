/**
 * Who must be on a planned node before a pod that is to be near them on its host. Such a pod comes before all others
 * there only where it may be the first of its kind.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import type { Variant } from "../batch/pod-class.ts";
import {
  type Place,
  possibleDomains,
  selects,
  type TopologyGroup,
} from "../topology/topology-group.ts";

/** Of the pods on a node those, one of which is there before the variant's; none: it needs nobody there. */
export function leadersOf(
  pods: readonly Pod[],
  { hostRules }: Pick<Variant, "hostRules">,
): readonly Pod[] {
  const near = hostRules.filter(({ group }) => group.type === "affinity");
  // None of their kind is elsewhere.
  if (near.every(({ group, self }) => self && group.perHost.size < 2)) return [];
  return pods.filter((pod) => near.every(({ group }) => isOf(group, pod)));
}

/** Whether whichever of them is there is one that the group counts: not where it may follow another. */
export function isLedByOneOf(group: TopologyGroup, leaders: readonly Pod[]): boolean {
  return leaders.length > 0 && leaders.every((one) => isOf(group, one));
}

/**
 * Whether pods that wait on other planned nodes may lift the smallest count first: not if that stays 0 for want of
 * domains, nor if they can only come to the one domain that this node is in.
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
