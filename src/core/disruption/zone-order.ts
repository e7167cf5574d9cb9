/**
 * Pods that must be spread over zones can go to a zone only while that one has few of them. One whose turn comes
 * while its zone is ahead of others, even if it is the zone that it is in, is put by kube-scheduler where nobody
 * planned it, takes the room of others there, and in the end somebody waits for a node that nobody planned.
 */
import { isTerminating, type Pod } from "../../apis/core/pod.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { NodeLabels } from "../scheduling/node-labels.ts";
import { requiredAlternatives } from "../scheduling/pod-requirements.ts";
import type { NodeView } from "../state/node-view.ts";
import { ownerOf, podsByOwner } from "./moves.ts";

/** More turns than these are never waited for (controllers/disruption/steering.ts). */
const MOST_LOOKS = 50;
/** Each with its pods. */
const NODES_PER_STEP = 512;

/** A node and the pods it is to take. */
export interface PlannedTarget {
  readonly name: string;
  readonly zone: string | undefined;
  readonly pods: readonly Pod[];
}

/**
 * The places in an order in which their pods may go there when their turn comes: again and again those all of
 * whose pods may by now, and where there are none, one without those that may not. `zoneOf`: where a pod is now.
 * What never comes out right stays in one turn: the scheduler has the last word.
 */
export function* orderByZone(
  places: readonly PlannedTarget[],
  zoneOf: (pod: Pod) => string | undefined,
  nodes: readonly NodeView[],
): Steps<readonly PlannedTarget[]> {
  if (!places.some(({ pods }) => pods.some(isSpread))) return places;
  const counts = new ZoneCounts(zoneOf);
  yield* counts.read(places, nodes);
  const turns: PlannedTarget[] = [];
  let left = places;
  for (let looks = 0; looks < MOST_LOOKS && left.length > 0; looks++) {
    const later = takeWhole(left, counts, turns);
    const isStuck = later.length === left.length;
    const parted = isStuck ? takePart(left, counts, turns) : later;
    if (parted === undefined) break;
    left = parted;
  }
  return [...turns, ...left];
}

/** Adds places all of whose pods may go there by now. Those that are left. */
function takeWhole(
  places: readonly PlannedTarget[],
  counts: ZoneCounts,
  turns: PlannedTarget[],
): readonly PlannedTarget[] {
  return places.filter((place) => {
    if (counts.legal(place).length < place.pods.length) return true;
    counts.move(place.pods, place.zone);
    turns.push(place);
    return false;
  });
}

/** Adds what may go of the first place of which anything may. Undefined: nothing may. */
function takePart(
  places: readonly PlannedTarget[],
  counts: ZoneCounts,
  turns: PlannedTarget[],
): readonly PlannedTarget[] | undefined {
  for (const [index, place] of places.entries()) {
    const going = new Set(counts.legal(place));
    if (going.size === 0) continue;
    counts.move([...going], place.zone);
    turns.push({ ...place, pods: [...going] });
    const rest = { ...place, pods: place.pods.filter((pod) => !going.has(pod)) };
    return places.with(index, rest);
  }
  return undefined;
}

function isSpread(pod: Pod): boolean {
  return zoneSkew(pod) !== undefined;
}

/** Undefined: nothing keeps it from any zone. */
function zoneSkew({ spec }: Pod): number | undefined {
  const skews = (spec.topologySpreadConstraints ?? [])
    .filter(({ topologyKey }) => topologyKey === TOPOLOGY_ZONE_LABEL_KEY)
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule")
    .map(({ maxSkew }) => maxSkew);
  return skews.length === 0 ? undefined : Math.min(...skews);
}

type Counts = Map<string, number>;

/** How many pods of each owner every zone has, as they are moved. */
class ZoneCounts {
  readonly #byOwner = new Map<string, Counts>();
  readonly #zoneOf: (pod: Pod) => string | undefined;

  constructor(zoneOf: (pod: Pod) => string | undefined) {
    this.#zoneOf = zoneOf;
  }

  /** Owners of the places' pods, and where all pods of theirs run. */
  *read(places: readonly PlannedTarget[], nodes: readonly NodeView[]): Steps<void> {
    const zones = yield* labelsByZone(nodes);
    for (const { zone, pods } of places)
      for (const pod of pods.filter(isSpread)) {
        const own = this.#byOwner.get(ownerKey(pod)) ?? new Map(zonesFor(pod, zones));
        this.#byOwner.set(ownerKey(pod), own);
        add(own, zone, 0);
      }
    yield* eachInSteps(nodes, NODES_PER_STEP, ({ pods, labels }) => {
      for (const pod of pods)
        if (!isTerminating(pod))
          add(this.#byOwner.get(ownerKey(pod)), labels[TOPOLOGY_ZONE_LABEL_KEY], 1);
    });
  }

  /** Those of its pods that may go there by now, when they all leave at once. */
  legal({ zone, pods }: PlannedTarget): readonly Pod[] {
    const spread = pods.filter(isSpread);
    if (zone === undefined || spread.length === 0) return pods;
    const isStaying = (pod: Pod) => this.#zoneOf(pod) === zone;
    const late = new Set<Pod>();
    for (const alike of podsByOwner(spread).values()) {
      const own = alike.toSorted((a, b) => Number(isStaying(b)) - Number(isStaying(a)));
      let count = own.length;
      while (count > 0 && !this.#areLegal(own.slice(0, count), zone)) count--;
      for (const pod of own.slice(count)) late.add(pod);
    }
    return late.size === 0 ? pods : pods.filter((pod) => !late.has(pod));
  }

  /** They are counted there from now on. */
  move(pods: readonly Pod[], to: string | undefined): void {
    for (const pod of pods) {
      const own = this.#byOwner.get(ownerKey(pod));
      add(own, this.#zoneOf(pod), -1);
      add(own, to, 1);
    }
  }

  /** Of one owner. */
  #areLegal(pods: readonly Pod[], to: string): boolean {
    const [first] = pods as readonly [Pod];
    const own: Counts = new Map(this.#byOwner.get(ownerKey(first)));
    const skew = zoneSkew(first) ?? 0;
    for (const pod of pods) add(own, this.#zoneOf(pod), -1);
    return pods.every(() => {
      const least = Math.min(...own.values());
      add(own, to, 1);
      return (own.get(to) ?? 0) - least <= skew;
    });
  }
}

/** Of the nodes that stay. */
function* labelsByZone(
  nodes: readonly NodeView[],
): Steps<ReadonlyMap<string, readonly NodeLabels[]>> {
  const byZone = new Map<string, NodeLabels[]>();
  yield* eachInSteps(nodes, NODES_PER_STEP, ({ labels, deleting, name }) => {
    const zone = labels[TOPOLOGY_ZONE_LABEL_KEY];
    if (zone === undefined || deleting) return;
    const own = new NodeLabels(labels, name);
    const known = byZone.get(zone);
    if (known === undefined) byZone.set(zone, [own]);
    else known.push(own);
  });
  return byZone;
}

/** Zones with nodes that the pod may have, none counted yet: no others matter to its spread. */
function zonesFor(
  { spec }: Pod,
  zones: ReadonlyMap<string, readonly NodeLabels[]>,
): readonly (readonly [string, number])[] {
  const wanted = requiredAlternatives(spec);
  return [...zones].flatMap(([zone, nodes]) =>
    nodes.some((labels) => wanted.some((one) => labels.accept(one))) ? [[zone, 0] as const] : [],
  );
}

/** A zone that does not count yet counts from then on. */
function add(counts: Counts | undefined, zone: string | undefined, by: number): void {
  if (zone !== undefined) counts?.set(zone, (counts.get(zone) ?? 0) + by);
}

function ownerKey(pod: Pod): string {
  return ownerOf(pod)?.uid ?? "";
}
