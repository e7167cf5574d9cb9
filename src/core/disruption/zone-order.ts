/**
 * Orders the targets of a command, the nodes that take its pods, so that pods keep their zone spread at every moment.
 * Otherwise kube-scheduler binds a new pod in another zone than planned, because the planned zone has more of its pods.
 * There it takes the room of another pod, and in the end an unplanned node is launched.
 */
import { isTerminating, type Pod } from "../../apis/core/pod.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { controllerOf } from "../../apis/meta.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import { NodeLabels } from "../scheduling/node-labels.ts";
import { requiredAlternatives } from "../scheduling/pod-requirements.ts";
import type { NodeView } from "../state/node-view.ts";
import { podsByOwner } from "./moves.ts";

/** The most passes over the targets. Targets that remain after the last pass keep their order. */
const MOST_PASSES = 50;
/** A target and the pods planned for it. */
export interface PlannedTarget {
  readonly name: string;
  readonly zone: string | undefined;
  readonly pods: readonly Pod[];
}

/**
 * The targets in an order that keeps zone spreads. Each pass takes the targets whose pods may all move now. If there is
 * none, it takes those pods of one target that may move. Pods that may never move come last.
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
  for (let pass = 0; pass < MOST_PASSES && left.length > 0; pass++) {
    const later = takeWhole(left, counts, turns);
    const isStuck = later.length === left.length;
    const parted = isStuck ? takePart(left, counts, turns) : later;
    if (parted === undefined) break;
    left = parted;
  }
  return [...turns, ...left];
}

/** Adds the targets whose pods may all move now to `turns`. Returns the other targets. */
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

/**
 * Adds those pods of one target that may move now to `turns`. Returns the other pods and targets. Undefined: none may
 * move.
 */
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

/** The smallest maxSkew of the pod's required zone spreads. Undefined: it has none. */
function zoneSkew({ spec }: Pod): number | undefined {
  const skews = (spec.topologySpreadConstraints ?? [])
    .filter(({ topologyKey }) => topologyKey === TOPOLOGY_ZONE_LABEL_KEY)
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule")
    .map(({ maxSkew }) => maxSkew);
  return skews.length === 0 ? undefined : Math.min(...skews);
}

type Counts = Map<string, number>;

/** Number of pods in each zone, by owner. Updated while pods are moved. */
class ZoneCounts {
  readonly #byOwner = new Map<string, Counts>();
  readonly #zoneOf: (pod: Pod) => string | undefined;

  constructor(zoneOf: (pod: Pod) => string | undefined) {
    this.#zoneOf = zoneOf;
  }

  /** Counts the pods of each owner that has a pod with a zone spread among these targets. */
  *read(places: readonly PlannedTarget[], nodes: readonly NodeView[]): Steps<void> {
    const zones = yield* labelsByZone(nodes);
    for (const { zone, pods } of places)
      for (const pod of pods.filter(isSpread)) {
        const own = within(this.#byOwner, ownerKey(pod), () => new Map(zonesFor(pod, zones)));
        add(own, zone, 0);
      }
    yield* eachInSteps(nodes, ({ pods, labels }) => {
      for (const pod of pods)
        if (!isTerminating(pod))
          add(this.#byOwner.get(ownerKey(pod)), labels[TOPOLOGY_ZONE_LABEL_KEY], 1);
    });
  }

  /** The pods of the target that may move there together now, without breaking their zone spread. */
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

  move(pods: readonly Pod[], to: string | undefined): void {
    for (const pod of pods) {
      const own = this.#byOwner.get(ownerKey(pod));
      add(own, this.#zoneOf(pod), -1);
      add(own, to, 1);
    }
  }

  /** Whether these pods keep the zone spread if they move there together. `pods`: at least one, all of one owner. */
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

/** The labels of all nodes that are not leaving, by zone. */
function* labelsByZone(
  nodes: readonly NodeView[],
): Steps<ReadonlyMap<string, readonly NodeLabels[]>> {
  const byZone = new Map<string, NodeLabels[]>();
  yield* eachInSteps(nodes, ({ labels, deleting, name }) => {
    const zone = labels[TOPOLOGY_ZONE_LABEL_KEY];
    if (zone === undefined || deleting) return;
    const own = new NodeLabels(labels, name);
    within(byZone, zone, () => []).push(own);
  });
  return byZone;
}

/** The zones that the pod's spread counts: zones with a node that the pod may use. Each starts with zero pods. */
function zonesFor(
  { spec }: Pod,
  zones: ReadonlyMap<string, readonly NodeLabels[]>,
): readonly (readonly [string, number])[] {
  const wanted = requiredAlternatives(spec);
  return [...zones].flatMap(([zone, nodes]) =>
    nodes.some((labels) => wanted.some((one) => labels.accept(one))) ? [[zone, 0] as const] : [],
  );
}

/** Changes the count of a zone. A zone without a count starts at zero. */
function add(counts: Counts | undefined, zone: string | undefined, by: number): void {
  if (zone !== undefined) counts?.set(zone, (counts.get(zone) ?? 0) + by);
}

function ownerKey(pod: Pod): string {
  return controllerOf(pod)?.uid ?? "";
}
