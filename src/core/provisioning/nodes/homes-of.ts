/** Who keeps a rule, of all whom it counts: where such pods of the batch were put. */
import type { Pod } from "../../../apis/core/pod.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { PodClass } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { Place, TopologyGroup } from "../topology/topology-group.ts";

/** Each a few milliseconds at most. */
const PODS_PER_STEP = 4_096;
const HOMES_PER_STEP = 512;

interface Home extends Place {
  readonly pods: readonly Pod[];
}

interface Homes {
  readonly claims: { readonly all: readonly Home[] };
  readonly nodes: readonly Home[];
}

/** Of a rule: the places with a pod that keeps it, were it only as a wish that may have been given up. */
export function homesOf(
  homes: Homes,
  queued: readonly QueuedPod[],
): (group: TopologyGroup) => Steps<readonly Place[]> {
  // Mostly nobody asks; who does may ask for a thousand rules.
  let known: ReadonlyMap<TopologyGroup, readonly Place[]> | undefined;
  return function* placesOf(group) {
    known ??= yield* byRule(homes, queued);
    return known.get(group) ?? [];
  };
}

/** Of all rules at once: each pod is looked at no more than once. */
function* byRule(
  { claims, nodes }: Homes,
  queued: readonly QueuedPod[],
): Steps<ReadonlyMap<TopologyGroup, readonly Place[]>> {
  const classOf = new Map<Pod, PodClass>();
  yield* eachInSteps(queued, PODS_PER_STEP, ({ pod, podClass }) => {
    if (podClass.variants.some(({ rules }) => rules.length > 0)) classOf.set(pod, podClass);
  });
  const found = new Map<TopologyGroup, Place[]>();
  yield* eachInSteps([...claims.all, ...nodes], HOMES_PER_STEP, (home) => {
    const classes = new Set(home.pods.map((pod) => classOf.get(pod)));
    const groups = new Set<TopologyGroup>();
    for (const podClass of classes)
      for (const { rules } of podClass?.variants ?? [])
        for (const { group } of rules) groups.add(group);
    for (const group of groups) {
      const places = found.get(group);
      if (places === undefined) found.set(group, [home]);
      else places.push(home);
    }
  });
  return found;
}
