/** Who keeps a rule, of all whom it counts: where such pods of the batch were put. */
import type { Pod } from "../../../apis/core/pod.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { Place, TopologyGroup } from "../topology/topology-group.ts";

interface Home extends Place {
  readonly pods: readonly Pod[];
}

/** Of a rule: the places with a pod that keeps it, were it only as a wish that may have been given up. */
export function homesOf(
  {
    claims,
    nodes,
  }: { readonly claims: { readonly all: readonly Home[] }; readonly nodes: readonly Home[] },
  queued: readonly QueuedPod[],
): (group: TopologyGroup) => readonly Place[] {
  return (group) => {
    const keepers = new Set<Pod>();
    for (const { pod, podClass } of queued)
      if (podClass.variants.some(({ rules }) => rules.some((rule) => rule.group === group)))
        keepers.add(pod);
    return [...claims.all, ...nodes].filter(({ pods }) => pods.some((pod) => keepers.has(pod)));
  };
}
