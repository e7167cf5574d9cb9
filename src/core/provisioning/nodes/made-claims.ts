/**
 * The input for a second plan in the same pass. Pods that the first plan placed count where they were placed.
 * NodeClaims that it created count as nodes of unknown size, and against limits as their largest instance type. So
 * topology, limits and reservations hold over all plans of one pass.
 */

import type { Pod } from "../../../apis/core/pod.ts";
import { CAPACITY_TYPE_LABEL_KEY, normalizedLabel } from "../../../apis/karpenter/labels.ts";
import { keyOf } from "../../../apis/meta.ts";
import { addResources, maxResources, type Resources } from "../../../apis/resources.ts";
import { eachInSteps, mapInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import { reservationOf } from "../../cloudprovider/offerings.ts";
import { topologyKeys } from "../../scheduling/pod-requirements.ts";
import { type NodeView, nodeView } from "../../state/node-view.ts";
import type { PlannedClaim, SchedulingResult } from "../result.ts";
import type { PoolInput, SchedulingInput } from "../scheduling-input.ts";
import { Reservations } from "./reservations.ts";
import { supposedLabels, type Unlaunched, withoutWaiting } from "./unlaunched.ts";

export interface MadeClaim {
  readonly name: string;
  readonly plan: PlannedClaim;
}

/** The claims that one pass has created, and the pods that it has placed on existing nodes. */
export interface PassOutcome {
  readonly made: readonly MadeClaim[];
  readonly existing: SchedulingResult["existing"];
}

/** The input for the next plan, without pods that have a place or must wait for the launch of the claims. */
export function* withPlaced(input: SchedulingInput, placed: PassOutcome): Steps<SchedulingInput> {
  const { made, existing } = placed;
  const there = [...made.flatMap(({ plan }) => plan.pods), ...existing.flatMap(({ pods }) => pods)];
  const keys = topologyKeys([...input.pods, ...there]);
  for (const { topologyKey } of input.defaultSpread?.constraints ?? [])
    keys.add(normalizedLabel(topologyKey));
  const plans = new Map(made.map(({ name, plan }) => [name, plan]));
  const unlaunched: Unlaunched[] = [];
  const nodes = yield* mapInSteps(input.nodes, (view) => {
    const plan = plans.get(view.claim?.metadata.name ?? "");
    if (plan === undefined || !isUnlaunched(view)) return view;
    const supposed = withLabels(view, supposedLabels(plan, keys));
    unlaunched.push({ plan, labels: supposed.labels });
    return supposed;
  });
  const pools = yield* withUsageOf(unlaunched, input.pools);
  const placeOf = placesOfPods(nodes, placed);
  const hasPlace = (pod: Pod) => placeOf.has(keyOf(pod));
  const others = input.pods.filter((pod) => !hasPlace(pod));
  const some = yield* withoutWaiting(others, unlaunched, input.namespaces);
  // A sticky pod that must wait for a launch keeps its planned room.
  const planned = new Set(some);
  const waiting = others.filter((pod) => !planned.has(pod));
  for (const pod of waiting) {
    const target = input.sticky?.get(keyOf(pod));
    if (target !== undefined) placeOf.set(keyOf(pod), target);
  }
  const seen = yield* withPodsAt(nodes, [...there, ...waiting], placeOf);
  return { ...input, nodes: seen, pools, pods: some };
}

/**
 * The planned claims for which reservations have enough free units after the claims in `made` have taken theirs. Pods
 * of the other claims wait for the next pass.
 */
export function withinReservations(
  planned: readonly PlannedClaim[],
  { made }: Pick<PassOutcome, "made">,
  pools: readonly PoolInput[],
): readonly PlannedClaim[] {
  const left = new Reservations(pools.flatMap(({ instanceTypes }) => instanceTypes));
  const take = (plan: PlannedClaim) => {
    const wanted = reservationsOf(plan);
    const isThere = left.holdable(wanted, []).length === wanted.length;
    if (isThere) left.exchange([], wanted);
    return isThere;
  };
  for (const { plan } of made) take(plan);
  return planned.filter(take);
}

/**
 * Adds the largest capacity of each unlaunched claim to the usage of its pool. The cluster state counts only one node.
 */
function* withUsageOf(
  unlaunched: readonly Unlaunched[],
  pools: readonly PoolInput[],
): Steps<readonly PoolInput[]> {
  const more = new Map<string, Resources>();
  yield* eachInSteps(unlaunched, ({ plan: { pool, instanceTypes } }) => {
    const largest = instanceTypes.map(({ capacity }) => capacity).reduce(maxResources, {});
    more.set(pool.id, addResources(more.get(pool.id) ?? {}, largest));
  });
  return pools.map((one) => {
    const { pool, usage } = one;
    return { ...one, usage: addResources(usage, more.get(pool.id) ?? {}) };
  });
}

/** Whether the node is a claim without an instance, which has no `allocatable` yet. */
function isUnlaunched({ deleting, allocatable }: NodeView): boolean {
  return !deleting && Object.keys(allocatable).length === 0;
}

/** The view with these labels added. If the claim has a label itself, its value is kept. */
function withLabels(view: NodeView, labels: NodeView["labels"]): NodeView {
  const { claim } = view;
  if (claim === undefined) return view;
  const metadata = { ...claim.metadata, labels: { ...labels, ...claim.metadata.labels } };
  return changed(view, { claim: { ...claim, metadata } });
}

function changed(
  { node, claim, pods, deleting: marked, nominatedUntilMs }: NodeView,
  changes: Partial<Pick<NodeView, "claim" | "pods">>,
): NodeView {
  return nodeView({ node, claim, pods, marked, nominatedUntilMs, ...changes });
}

/** The nodes with these pods moved to their places. Leaving nodes no longer have these pods. */
function* withPodsAt(
  nodes: readonly NodeView[],
  pods: readonly Pod[],
  placeOf: ReadonlyMap<string, string>,
): Steps<readonly NodeView[]> {
  if (placeOf.size === 0) return nodes;
  const arrived = new Map<string, Pod[]>();
  for (const pod of pods) {
    const place = placeOf.get(keyOf(pod));
    if (place !== undefined) within(arrived, place, () => []).push(pod);
  }
  return yield* mapInSteps(nodes, (view) => {
    const names = new Set([view.name, view.claim?.metadata.name ?? view.name]);
    const here = [...names].flatMap((name) => arrived.get(name) ?? []);
    const staying = view.deleting
      ? view.pods.filter((pod) => !placeOf.has(keyOf(pod)))
      : [...view.pods, ...here];
    return staying.length === view.pods.length ? view : withPods(view, staying);
  });
}

function withPods(view: NodeView, pods: readonly Pod[]): NodeView {
  const bound = pods.map((pod) =>
    pod.spec.nodeName === view.name ? pod : { ...pod, spec: { ...pod.spec, nodeName: view.name } },
  );
  return changed(view, { pods: bound });
}

/** The node or claim where each pod was placed, without pods that are bound there already and without gone nodes. */
function placesOfPods(
  nodes: readonly NodeView[],
  { made, existing }: PassOutcome,
): Map<string, string> {
  const views = new Map<string, NodeView>();
  for (const view of nodes) {
    if (view.claim !== undefined) views.set(view.claim.metadata.name, view);
    views.set(view.name, view);
  }
  const placeOf = new Map<string, string>();
  const places = [
    ...made.map(({ name, plan: { pods } }) => ({ name, pods })),
    ...existing.map(({ nodeName: name, pods }) => ({ name, pods })),
  ];
  for (const { name, pods } of places) {
    const view = views.get(name);
    if (view === undefined) continue;
    const bound = new Set(view.pods.map(keyOf));
    for (const pod of pods) if (!bound.has(keyOf(pod))) placeOf.set(keyOf(pod), name);
  }
  return placeOf;
}

/** The reservations that the claim may be launched into. If there is one, the claim is launched into one of them. */
function reservationsOf({ instanceTypes, requirements }: PlannedClaim): readonly string[] {
  const wanted = (key: string | undefined) =>
    requirements.find((one) => one.key === key && one.operator === "In")?.values ?? [];
  if (wanted(CAPACITY_TYPE_LABEL_KEY).join() !== "reserved") return [];
  const offerings = instanceTypes.flatMap((type) => type.offerings);
  const reserved = offerings.map(reservationOf).find((one) => one !== undefined);
  return wanted(reserved?.key);
}
