/**
 * Simulates all passes that the provisioner makes for one batch of pods, if nothing else happens. Each pass sees what
 * earlier passes launched. A planned claim counts as a large type against limits, and holds units of all reservations
 * that it may use. Once launched, it counts as its own type and uses one unit. So a later pass may place pods that an
 * earlier one left pending. A later pass also has the next pod of each StatefulSet that creates its pods in order.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { keyOf } from "../../apis/meta.ts";
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../apis/resources.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import type { MadeClaim } from "../provisioning/nodes/made-claims.ts";
import type { PlannedClaim, SchedulingResult } from "../provisioning/result.ts";
import type { PoolInput, SchedulingInput } from "../provisioning/scheduling-input.ts";
import type { NodeView } from "../state/node-view.ts";
import { CreationOrder } from "./creation-order.ts";
import { inFlight } from "./launched.ts";
import { withSharedCapacity } from "./shared-capacity.ts";

/** The combined plan of all passes. */
export interface PlayedPasses<T extends SchedulingResult = SchedulingResult> {
  /** The claims have the pods of all passes. The unschedulable pods are those of the last pass. */
  readonly result: T;
  /** How many passes placed pods. 1 if none did. */
  readonly passes: number;
  /**
   * Whether further passes would change nothing. False: after {@link MOST_PASSES} passes, the last one still placed
   * pods and left others pending.
   */
  readonly isSettled: boolean;
  /** Number of pods of StatefulSets that counted as created at once after too many passes. Absent: there are none. */
  readonly createdAtOnce?: number;
}

/** A batch needs about one pass for each reservation that it may use, so 50 passes suffice. Exported for tests. */
export const MOST_PASSES = 50;

/**
 * After so many passes that had new pods of StatefulSets, all other pods count as created. A pass with 300 nodes takes
 * 30 ms (`karpenter plan` of a StatefulSet with 300 pods, one on each node).
 */
const MOST_ORDERED_PASSES = 500;

/**
 * Simulates passes until all pods have a place or a pass places no more pods than the one before. `plan`: plans one
 * pass.
 */
export function playPasses<T extends SchedulingResult>(
  input: SchedulingInput,
  plan: (input: SchedulingInput) => T,
  mostOrdered?: number,
): PlayedPasses<T> {
  // biome-ignore lint/correctness/useYield: a pass at once has no steps.
  const pass = function* (seen: SchedulingInput): Steps<T> {
    return plan(seen);
  };
  return atOnce(playPassesInSteps(input, pass, mostOrdered));
}

/** Like {@link playPasses}, in steps. `mostOrdered`: see {@link MOST_ORDERED_PASSES}. */
export function* playPassesInSteps<T extends SchedulingResult>(
  input: SchedulingInput,
  plan: (input: SchedulingInput) => Steps<T>,
  mostOrdered = MOST_ORDERED_PASSES,
): Steps<PlayedPasses<T>> {
  const options = { ...input.options, reservedCapacity: "strict" as const };
  const order = new CreationOrder(input);
  let seen: SchedulingInput = { ...input, options, pods: order.created };
  const first = yield* plan(seen);
  const made: MadeClaim[] = [];
  const costs = [first.limitCost];
  let last = first;
  let passes = 1;
  let ordered = 0;
  let createdAtOnce = 0;
  const played = (isSettled: boolean) => {
    const all = last === first ? first : joined(made, first, { ...last, limitCost: sumOf(costs) });
    const missing = order.notCreated(all.unschedulable);
    const unschedulable = [...all.unschedulable, ...missing];
    const result = missing.length === 0 ? all : { ...all, unschedulable };
    return { result, passes, isSettled, ...(createdAtOnce === 0 ? {} : { createdAtOnce }) };
  };
  let isMore = placedBy(first) > 0;
  while (true) {
    const come = named(last.newClaims, seen.nodes);
    const hasNew = order.advance(last, come);
    if (!hasNew && !(isMore && hasPending(last))) return played(true);
    if (hasNew && ++ordered === mostOrdered) createdAtOnce = order.createAll();
    if (passes - ordered === MOST_PASSES) return played(false);
    seen = { ...afterPass(seen, last, come), pods: order.created };
    const next = yield* plan(seen);
    isMore = placedBy(next) > placedBy(last);
    if (isMore) passes++;
    made.push(...come);
    last = next;
    costs.push(next.limitCost);
  }
}

function hasPending({ unschedulable }: SchedulingResult): boolean {
  return unschedulable.some(({ ignored }) => ignored !== true);
}

function placedBy({ newClaims, existing }: SchedulingResult): number {
  return [...newClaims, ...existing].reduce((sum, { pods }) => sum + pods.length, 0);
}

/** Gives each planned claim a name that no node has. */
function named(plans: readonly PlannedClaim[], nodes: readonly NodeView[]): readonly MadeClaim[] {
  const taken = new Set(nodes.map(({ name }) => name));
  let count = 0;
  return plans.map((plan) => {
    let name: string;
    do name = `${plan.pool.name}-planned-${++count}`;
    while (taken.has(name));
    return { name, plan };
  });
}

/** The input of the next pass: the claims are launched, and pods that have a place keep it. */
function afterPass(
  input: SchedulingInput,
  { existing }: SchedulingResult,
  made: readonly MadeClaim[],
): SchedulingInput {
  const sticky = new Map<string, string>();
  for (const { nodeName, pods } of existing)
    for (const pod of pods) sticky.set(keyOf(pod), nodeName);
  for (const { name, plan } of made) for (const pod of plan.pods) sticky.set(keyOf(pod), name);
  const views = made.map(({ name, plan }) => inFlight({ plan, name, nowMs: input.nowMs }));
  const plans = made.map(({ plan }) => plan);
  const { pools, ...room } = withSharedCapacity(input, plans);
  return {
    ...input,
    ...room,
    sticky,
    nodes: [...input.nodes, ...views].sort((a, b) => (a.name < b.name ? -1 : 1)),
    pools: pools.map((one) => withUsageOf(one, views)),
  };
}

function withUsageOf(one: PoolInput, views: readonly NodeView[]): PoolInput {
  const more = views
    .filter(({ poolId }) => poolId === one.pool.id)
    .reduce<Resources>((sum, { capacity }) => addResources(sum, capacity), NO_RESOURCES);
  return { ...one, usage: addResources(one.usage, more) };
}

/** The last pass, with the cost of limits over all passes. */
interface Last extends Omit<SchedulingResult, "limitCost"> {
  readonly limitCost: SchedulingResult["limitCost"] | undefined;
}

/**
 * The combined result. Claims are those of all passes. Placements on existing nodes and pods without a place are from
 * the last pass, and all other fields from the first.
 */
function joined<T extends SchedulingResult>(made: readonly MadeClaim[], first: T, last: Last): T {
  const { limitCost } = last;
  const places = new Map(last.existing.map(({ nodeName, pods }) => [nodeName, pods]));
  const claims = made.map(({ name, plan }) => withPods(plan, places.get(name) ?? []));
  const names = new Set(made.map(({ name }) => name));
  return {
    ...first,
    newClaims: [...claims, ...last.newClaims],
    existing: last.existing.filter(({ nodeName }) => !names.has(nodeName)),
    unschedulable: last.unschedulable,
    excludedByLimits: last.excludedByLimits,
    ...(limitCost === undefined ? {} : { limitCost }),
  };
}

/** The claim with these pods. The pods for which it was planned come first. */
function withPods(plan: PlannedClaim, pods: readonly Pod[]): PlannedClaim {
  const own = new Set(plan.pods.map(keyOf));
  const there = new Set(pods.map(keyOf));
  const joining = pods.filter((pod) => !own.has(keyOf(pod)));
  const leaving = plan.pods.filter((pod) => !there.has(keyOf(pod)));
  if (joining.length === 0 && leaving.length === 0) return plan;
  const sum = (some: readonly Pod[]) =>
    some.reduce<Resources>((all, pod) => addResources(all, podRequests(pod)), NO_RESOURCES);
  return {
    ...plan,
    pods: [...plan.pods.filter((pod) => there.has(keyOf(pod))), ...joining],
    requests: subtractResources(addResources(plan.requests, sum(joining)), sum(leaving)),
  };
}

function sumOf(all: readonly SchedulingResult["limitCost"][]): SchedulingResult["limitCost"] {
  const costs = all.filter((one) => one !== undefined);
  if (costs.length === 0) return undefined;
  const poolIds = [...new Set(costs.flatMap((one) => one.poolIds))].sort();
  return { poolIds, microUsdPerHour: costs.reduce((sum, one) => sum + one.microUsdPerHour, 0) };
}
