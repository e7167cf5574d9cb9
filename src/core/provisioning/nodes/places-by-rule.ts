/**
 * Finds the nodes with pods that have a certain topology rule themselves. The counts of a topology group do not show
 * this: they include every pod that the rule selects.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { PodClass } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import type { PlacesOf } from "../topology/late-counts.ts";
import type { NodePlace, TopologyGroup } from "../topology/topology-group.ts";

interface PlaceWithPods extends NodePlace {
  readonly pods: readonly Pod[];
}

interface PlacesOfPass {
  readonly claims: { readonly all: readonly PlaceWithPods[] };
  readonly nodes: readonly PlaceWithPods[];
}

/** Finds, for one topology group, the nodes with pods that have its rule, and how many. Preferred rules count, too. */
export function placesByRule(all: PlacesOfPass, queued: readonly QueuedPod[]): PlacesOf {
  // The result is computed on demand: most passes never need it, and some passes need it for a thousand rules.
  let known: ReadonlyMap<TopologyGroup, ReadonlyMap<NodePlace, number>> | undefined;
  return function* placesOf(group) {
    known ??= yield* byRule(all, queued);
    return known.get(group) ?? NOWHERE;
  };
}

/** The nodes for all topology groups together, so that each pod is read once. */
function* byRule(
  { claims, nodes }: PlacesOfPass,
  queued: readonly QueuedPod[],
): Steps<ReadonlyMap<TopologyGroup, ReadonlyMap<NodePlace, number>>> {
  const classOf = new Map<Pod, PodClass>();
  yield* eachInSteps(queued, ({ pod, podClass }) => {
    if (podClass.variants.some(({ rules }) => rules.length > 0)) classOf.set(pod, podClass);
  });
  const found = new Map<TopologyGroup, Map<NodePlace, number>>();
  yield* eachInSteps([...claims.all, ...nodes], (place) => {
    const classes = new Map<PodClass, number>();
    for (const pod of place.pods) {
      const podClass = classOf.get(pod);
      if (podClass !== undefined) classes.set(podClass, (classes.get(podClass) ?? 0) + 1);
    }
    for (const [{ variants }, pods] of classes) {
      for (const group of new Set(variants.flatMap(({ rules }) => rules.map((one) => one.group)))) {
        const places = found.get(group) ?? new Map<NodePlace, number>();
        found.set(group, places.set(place, (places.get(place) ?? 0) + pods));
      }
    }
  });
  return found;
}

const NOWHERE: ReadonlyMap<NodePlace, number> = new Map();
