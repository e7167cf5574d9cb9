/** Who keeps a rule, of all whom it counts: where such pods of the batch were put. */
import type { Pod } from "../../../apis/core/pod.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { PodClass } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { HomesOf } from "../topology/latecomers.ts";
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

/** Of a rule: where pods are that keep it, were it only as a wish that may have been given up, and how many. */
export function homesOf(homes: Homes, queued: readonly QueuedPod[]): HomesOf {
  // Mostly nobody asks; who does may ask for a thousand rules.
  let known: ReadonlyMap<TopologyGroup, ReadonlyMap<Place, number>> | undefined;
  return function* placesOf(group) {
    known ??= yield* byRule(homes, queued);
    return known.get(group) ?? NOWHERE;
  };
}

/** Of all rules at once: each pod is looked at no more than once. */
function* byRule(
  { claims, nodes }: Homes,
  queued: readonly QueuedPod[],
): Steps<ReadonlyMap<TopologyGroup, ReadonlyMap<Place, number>>> {
  const classOf = new Map<Pod, PodClass>();
  yield* eachInSteps(queued, PODS_PER_STEP, ({ pod, podClass }) => {
    if (podClass.variants.some(({ rules }) => rules.length > 0)) classOf.set(pod, podClass);
  });
  const found = new Map<TopologyGroup, Map<Place, number>>();
  yield* eachInSteps([...claims.all, ...nodes], HOMES_PER_STEP, (home) => {
    const classes = new Map<PodClass, number>();
    for (const pod of home.pods) {
      const podClass = classOf.get(pod);
      if (podClass !== undefined) classes.set(podClass, (classes.get(podClass) ?? 0) + 1);
    }
    for (const [{ variants }, pods] of classes) {
      for (const group of new Set(variants.flatMap(({ rules }) => rules.map((one) => one.group)))) {
        const places = found.get(group) ?? new Map<Place, number>();
        found.set(group, places.set(home, (places.get(home) ?? 0) + pods));
      }
    }
  });
  return found;
}

const NOWHERE: ReadonlyMap<Place, number> = new Map();
