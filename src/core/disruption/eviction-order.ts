/**
 * The order in which the pods of a command are evicted, so that each new pod is bound to its planned node.
 * kube-scheduler spreads pods over nodes, so in a tight plan the last pods would find no room. Therefore the target
 * nodes are filled one after the other. Meanwhile all other nodes get a taint that makes kube-scheduler prefer the
 * target.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { controllerOf } from "../../apis/meta.ts";
import { fits, type Resources } from "../../apis/resources.ts";
import { eachInSteps, type Steps, sortInSteps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import type { NodeView } from "../state/node-view.ts";
import type { Candidate } from "./candidates.ts";
import type { Command } from "./command.ts";
import { orderByZone, type PlannedTarget } from "./zone-order.ts";

/** The most nodes that get this taint. Each takes two API requests: one to add it and one to remove it. */
const MOST_OTHERS = 100;
/** A target node and pods planned for it. A target may appear several times in the order. */
export interface EvictionTarget {
  /** The name of a Node, or of a claim whose Node has not registered yet. */
  readonly name: string;
  readonly pods: readonly Pod[];
  /** UIDs of the pods' owners, which will create the new pods. */
  readonly owners: ReadonlySet<string>;
}

/** The parts of a command that decide the order. */
interface Plan extends Pick<Command, "replacements" | "placements"> {
  readonly candidates: readonly Pick<Candidate, "reschedulablePods" | "zone">[];
}

/**
 * The targets in the order in which they are filled. Only pods that are evicted count, not pending pods of the plan.
 * `claimNames`: names of the replacements, in their order. `nodes`: all nodes of the cluster.
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
  const existing = placements.map(({ nodeName, zone, pods }) => ({
    name: nodeName,
    zone,
    pods: leaving(pods),
  }));
  const created = replacements.map(({ pods, cheapest: { zone } }, index) => ({
    name: claimNames[index] as string,
    zone,
    pods: leaving(pods),
  }));
  const zoneOf = (pod: Pod) => zones.get(uidOf(pod));
  const places = stayingInZones([...existing, ...created], zoneOf);
  return (yield* orderByZone(places, zoneOf, nodes))
    .filter(({ pods }) => pods.length > 0)
    .map(({ name, pods }) => targetFor(name, pods));
}

/** Chooses one of several equal pods of a ReplicaSet for a place that was planned for one of them. */
type Choice = (alike: ReadonlySet<Pod>, planned: Pod, zone: string | undefined) => Pod | undefined;

/**
 * Exchanges pods of a ReplicaSet between targets, so that most stay in their zone. With a zone spread, a pod could
 * change its zone only after other pods have moved.
 */
function stayingInZones(
  places: readonly PlannedTarget[],
  zoneOf: (pod: Pod) => string | undefined,
): readonly PlannedTarget[] {
  const left = new Map<string, Set<Pod>>();
  for (const pod of places.flatMap(({ pods }) => pods)) {
    const uid = replicaSetOf(pod);
    if (uid === undefined) continue;
    within(left, uid, () => new Set()).add(pod);
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
  // The lists are reversed, because pods are removed from their end.
  const inZone = new Map<string, Pod[]>();
  for (const [uid, alike] of left)
    for (const one of [...alike].reverse()) {
      const key = `${uid} ${zoneOf(one)}`;
      within(inZone, key, () => []).push(one);
    }
  assign((_, planned, zone) => inZone.get(`${replicaSetOf(planned)} ${zone}`)?.pop());
  assign((alike, planned, zone) => itself(alike, planned, zone) ?? alike.values().next().value);
  return places.map((place, index) => ({
    ...place,
    pods: place.pods.map((planned, slot) => taken[index]?.[slot] ?? planned),
  }));
}

function replicaSetOf(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  return owner?.kind === "ReplicaSet" ? owner.uid : undefined;
}

function uidOf({ metadata }: Pod): string | undefined {
  return metadata.uid;
}

function targetFor(name: string, pods: readonly Pod[]): EvictionTarget {
  const owners = new Set(pods.flatMap((pod) => controllerOf(pod)?.uid ?? []));
  return { name, pods, owners };
}

/**
 * Names of nodes that need the taint: managed nodes that are no targets but have room for one of these pods. At most
 * {@link MOST_OTHERS}, those with the most free cpu first, because kube-scheduler prefers them.
 */
export function* otherNodesWithRoom(
  nodes: readonly NodeView[],
  targets: ReadonlySet<string>,
  pods: readonly Pod[],
): Steps<readonly string[]> {
  const least = leastOf(pods);
  const places: (readonly [number, string])[] = [];
  yield* eachInSteps(nodes, (view) => {
    const { node, managed, deleting, name, available, allocatable } = view;
    if (node === undefined || !managed || deleting) return;
    if (targets.has(name) || !fits(least, available)) return;
    places.push([(available["cpu"] ?? 0) / Math.max(1, allocatable["cpu"] ?? 0), name]);
  });
  const sorted = yield* sortInSteps(
    places,
    ([a, one], [b, other]) => b - a || (one < other ? -1 : 1),
  );
  return sorted.slice(0, MOST_OTHERS).map(([, name]) => name);
}

/** For each resource: the smallest request of any of these pods. */
function leastOf(pods: readonly Pod[]): Resources {
  const all = pods.map(podRequests);
  const names = new Set(all.flatMap((one) => Object.keys(one)));
  return Object.fromEntries(
    [...names].map((name) => [name, Math.min(...all.map((one) => one[name] ?? 0))]),
  );
}
