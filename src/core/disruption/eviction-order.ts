/**
 * In which order the pods of a command leave, so that each goes where the plan has it: kube-scheduler spreads
 * what it is given, and of a tight plan the last pods would find no room. One node after the other is filled:
 * while it is its turn, only pods planned for it leave, and all others that they might go to are put last.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { fits, type Resources } from "../../apis/resources.ts";
import { eachInSteps, type Steps, sortInSteps } from "../../base/steps.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import type { Command } from "./command.ts";
import { ownerOf } from "./moves.ts";
import { orderByZone, type PlannedTarget } from "./zone-order.ts";

/** Nodes put last beside those that are to be filled: each costs two requests. */
const MOST_OTHERS = 100;
/** Looked at before others get a turn. */
const NODES_PER_STEP = 1_024;

/** One node and what it is to take; it may have several turns. */
export interface EvictionTarget {
  /** Of a Node that is there, or of a claim whose Node comes. */
  readonly name: string;
  readonly pods: readonly Pod[];
  /** UIDs of the pods' owners: who makes new ones. */
  readonly owners: ReadonlySet<string>;
}

/** What of a command says where its pods go. */
interface Plan extends Pick<Command, "replacements" | "placements"> {
  readonly candidates: readonly Pick<Candidate, "reschedulablePods" | "zone">[];
}

/**
 * `claimNames`: of the command's replacements, in their order; `nodes`: of the cluster, by which pods are spread.
 * Nodes that take nothing are no stops. Pods that wait anyway may be planned along: nobody has them leave, they
 * are not steered.
 */
export function* evictionOrder(
  { candidates, replacements, placements = [] }: Plan,
  claimNames: readonly string[],
  nodes: readonly NodeView[],
): Steps<readonly EvictionTarget[]> {
  const zones = new Map(
    candidates.flatMap(({ reschedulablePods, zone }) =>
      reschedulablePods.map((pod) => [uidOf(pod), zone] as const),
    ),
  );
  const leaving = (pods: readonly Pod[]) => pods.filter((pod) => zones.has(uidOf(pod)));
  const known = placements.map(({ nodeName, zone, pods }) => ({
    name: nodeName,
    zone,
    pods: leaving(pods),
  }));
  const fresh = replacements.map(({ pods, cheapest: { zone } }, index) => ({
    name: claimNames[index] as string,
    zone,
    pods: leaving(pods),
  }));
  const zoneOf = (pod: Pod) => zones.get(uidOf(pod));
  const places = stayingInZones([...known, ...fresh], zoneOf);
  return (yield* orderByZone(places, zoneOf, nodes))
    .filter(({ pods }) => pods.length > 0)
    .map(({ name, pods }) => stopFor(name, pods));
}

/** Who of those that are alike goes where one of them was planned. */
type Choice = (alike: ReadonlySet<Pod>, planned: Pod, zone: string | undefined) => Pod | undefined;

/**
 * The same places with as many pods of each ReplicaSet; which of them go where is free, for they are alike.
 * Each that can goes to a place in its own zone: pods that are spread over zones could not go elsewhere until
 * others have moved.
 */
function stayingInZones(
  places: readonly PlannedTarget[],
  zoneOf: (pod: Pod) => string | undefined,
): readonly PlannedTarget[] {
  const left = new Map<string, Set<Pod>>();
  for (const pod of places.flatMap(({ pods }) => pods)) {
    const uid = replicaSetOf(pod);
    if (uid === undefined) continue;
    const alike = left.get(uid);
    if (alike === undefined) left.set(uid, new Set([pod]));
    else alike.add(pod);
  }
  const taken = places.map(({ pods }) => pods.map((): Pod | undefined => undefined));
  const assign = (choose: Choice): void => {
    for (const [index, { zone, pods }] of places.entries())
      for (const [slot, planned] of pods.entries()) {
        const own = taken[index] as (Pod | undefined)[];
        const alike = left.get(replicaSetOf(planned) ?? "");
        if (own[slot] !== undefined || alike === undefined) continue;
        const one = choose(alike, planned, zone);
        if (one === undefined) continue;
        own[slot] = one;
        alike.delete(one);
      }
  };
  const itself: Choice = (alike, planned) => (alike.has(planned) ? planned : undefined);
  assign((alike, planned, zone) =>
    zoneOf(planned) === zone ? itself(alike, planned, zone) : undefined,
  );
  // The last first, to be taken from the end.
  const inZone = new Map<string, Pod[]>();
  for (const [uid, alike] of left)
    for (const one of [...alike].reverse()) {
      const key = `${uid} ${zoneOf(one)}`;
      const others = inZone.get(key);
      if (others === undefined) inZone.set(key, [one]);
      else others.push(one);
    }
  assign((_, planned, zone) => inZone.get(`${replicaSetOf(planned)} ${zone}`)?.pop());
  assign((alike, planned, zone) => itself(alike, planned, zone) ?? alike.values().next().value);
  return places.map((place, index) => ({
    ...place,
    pods: place.pods.map((planned, slot) => taken[index]?.[slot] ?? planned),
  }));
}

function replicaSetOf(pod: Pod): string | undefined {
  const owner = ownerOf(pod);
  return owner?.kind === "ReplicaSet" ? owner.uid : undefined;
}

function uidOf({ metadata }: Pod): string | undefined {
  return metadata.uid;
}

function stopFor(name: string, pods: readonly Pod[]): EvictionTarget {
  const owners = new Set(pods.flatMap((pod) => ownerOf(pod)?.uid ?? []));
  return { name, pods, owners };
}

/**
 * Names of our nodes that are no stop and on which one of these pods might end nevertheless, those with most
 * room first: kube-scheduler prefers them.
 */
export function* otherNodesWithRoom(
  nodes: readonly NodeView[],
  stops: ReadonlySet<string>,
  pods: readonly Pod[],
): Steps<readonly string[]> {
  const least = leastOf(pods);
  const places: (readonly [number, string])[] = [];
  yield* eachInSteps(nodes, NODES_PER_STEP, (view) => {
    const { node, managed, deleting, name, available, allocatable } = view;
    if (node === undefined || !managed || deleting) return;
    if (stops.has(name) || !fits(least, available)) return;
    places.push([(available["cpu"] ?? 0) / Math.max(1, allocatable["cpu"] ?? 0), name]);
  });
  const sorted = yield* sortInSteps(
    places,
    ([a, one], [b, other]) => b - a || (one < other ? -1 : 1),
  );
  return sorted.slice(0, MOST_OTHERS).map(([, name]) => name);
}

/** Of each resource what the pod with least of it wants. */
function leastOf(pods: readonly Pod[]): Resources {
  const all = pods.map(podRequests);
  const names = new Set(all.flatMap((one) => Object.keys(one)));
  return Object.fromEntries(
    [...names].map((name) => [name, Math.min(...all.map((one) => one[name] ?? 0))]),
  );
}
