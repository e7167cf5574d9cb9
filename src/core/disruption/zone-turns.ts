/**
 * Pods that must be spread over zones can go to another zone only while that one has few of them: one that is to
 * leave a zone with too many must wait until the zone it goes to is not ahead of others, or kube-scheduler puts its
 * new one where nobody planned it. A node whose turn comes too early for some gets another turn for those.
 */
import { isTerminating, type Pod } from "../../apis/core/pod.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeView } from "../state/node-view.ts";
import { ownerOf } from "./moves.ts";

/** Each takes a second at least, and nobody steers for longer than one and a half minutes. */
const MOST_TURNS = 100;

/** A node and the pods it is to take. */
export interface Place {
  readonly name: string;
  readonly zone: string | undefined;
  readonly pods: readonly Pod[];
}

/**
 * The places in their order, each with the pods that may go there by then, those that may not in turns after the
 * first. `zoneOf`: where a pod is now. What never comes out right stays in one turn: the scheduler has the last word.
 */
export function inTurnsByZone(
  places: readonly Place[],
  zoneOf: (pod: Pod) => string | undefined,
  nodes: readonly NodeView[],
): readonly Place[] {
  const crossing = places.flatMap(({ zone, pods }) =>
    pods.filter((pod) => zoneSkew(pod) !== undefined && zoneOf(pod) !== zone),
  );
  if (crossing.length === 0) return places;
  const counts = new ZoneCounts(crossing, places, nodes);
  const turns: Place[] = [];
  let left = places;
  while (left.length > 0) {
    const later: Place[] = [];
    for (const place of left) {
      const going: Pod[] = [];
      const waiting: Pod[] = [];
      for (const pod of place.pods)
        (counts.move(pod, zoneOf(pod), place.zone) ? going : waiting).push(pod);
      if (going.length > 0) turns.push({ ...place, pods: going });
      if (waiting.length > 0) later.push({ ...place, pods: waiting });
    }
    const isLast = turns.length >= MOST_TURNS || podsOf(later) === podsOf(left);
    if (isLast) turns.push(...later);
    left = isLast ? [] : later;
  }
  return turns;
}

function podsOf(places: readonly Place[]): number {
  return places.reduce((sum, { pods }) => sum + pods.length, 0);
}

/** Undefined: nothing keeps it from any zone. */
function zoneSkew({ spec }: Pod): number | undefined {
  const skews = (spec.topologySpreadConstraints ?? [])
    .filter(({ topologyKey }) => topologyKey === TOPOLOGY_ZONE_LABEL_KEY)
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule")
    .map(({ maxSkew }) => maxSkew);
  return skews.length === 0 ? undefined : Math.min(...skews);
}

/** How many pods of each owner every zone has, as they are moved. */
class ZoneCounts {
  readonly #byOwner = new Map<string, Map<string, number>>();

  /** `moving`: pods whose owners are counted. */
  constructor(moving: readonly Pod[], places: readonly Place[], nodes: readonly NodeView[]) {
    const staying = nodes.filter(({ deleting }) => !deleting);
    const zones = new Set([
      ...places.flatMap(({ zone }) => zone ?? []),
      ...staying.flatMap(({ labels }) => labels[TOPOLOGY_ZONE_LABEL_KEY] ?? []),
    ]);
    for (const pod of moving)
      this.#byOwner.set(keyOf(pod), new Map([...zones].map((zone) => [zone, 0])));
    for (const { pods, labels } of nodes) {
      const zone = labels[TOPOLOGY_ZONE_LABEL_KEY];
      if (zone !== undefined)
        for (const pod of pods) if (!isTerminating(pod)) this.#add(pod, zone, 1);
    }
  }

  /** Whether the pod may go there by now; it is counted there then. */
  move(pod: Pod, from: string | undefined, to: string | undefined): boolean {
    const own = this.#byOwner.get(keyOf(pod));
    const skew = zoneSkew(pod);
    if (own === undefined || skew === undefined || to === undefined || from === to) return true;
    if (from !== undefined) this.#add(pod, from, -1);
    const isLegal = (own.get(to) ?? 0) + 1 - Math.min(...own.values()) <= skew;
    if (isLegal) this.#add(pod, to, 1);
    else if (from !== undefined) this.#add(pod, from, 1);
    return isLegal;
  }

  #add(pod: Pod, zone: string, by: number): void {
    const own = this.#byOwner.get(keyOf(pod));
    own?.set(zone, (own.get(zone) ?? 0) + by);
  }
}

function keyOf(pod: Pod): string {
  return ownerOf(pod)?.uid ?? "";
}
