/**
 * Checks whether all pods of one planned node get devices (Dynamic Resource Allocation), in whichever order
 * kube-scheduler binds the pods. For `firstAvailable`, kube-scheduler takes the first alternative that is free at that
 * moment. So a pod that is bound early may take devices that the plan gave to another pod. Upstream plans for one order
 * only (pkg/scheduling/dynamicresources/allocator.go).
 */
import type { ClaimSpec } from "./claim-specs.ts";
import {
  type DeviceQuestion,
  isFound,
  type SearchFailure,
  type SearchFound,
  search,
  type Use,
} from "./search.ts";

/** The claims of one pod for which devices must be found on the node. */
export type PodClaims = readonly ClaimSpec[];

/**
 * Makes the search question for one pod of the node. `held`: the devices that pods which are bound earlier take.
 * `from`: the node as these pods have narrowed it.
 */
export type NodeAsk<S> = (claims: PodClaims, held: readonly Use[], from: S) => DeviceQuestion<S>;

const IN_ANOTHER_ORDER: SearchFailure = {
  problem:
    "pods that are planned for the node may take its devices first, because kube-scheduler takes the first alternative that fits",
};

/**
 * Searches devices for the last of `pods`, in each order of binding. Returns the devices of the first order that is
 * tried, or a failure if any order fails. `from`: the node as the other pods have narrowed it.
 */
export function inAnyOrder<S>(
  pods: readonly PodClaims[],
  ask: NodeAsk<S>,
  from: S,
): SearchFound<S> | SearchFailure {
  const asking = pods.at(-1);
  let first: SearchFound<S> | undefined;
  for (const order of ordersOf(pods)) {
    const held: Use[] = [];
    let at = from;
    let own: SearchFound<S>["uses"] = [];
    for (const pod of order) {
      const answer = search(ask(pod, [...held], at));
      if (!isFound(answer)) return answer.outOfSteps === true ? answer : IN_ANOTHER_ORDER;
      held.push(...answer.uses.flat());
      at = answer.at;
      if (pod === asking) own = answer.uses;
    }
    first ??= { at, uses: own, held };
  }
  return first ?? IN_ANOTHER_ORDER;
}

/**
 * Whether the pods may get other devices in another order of binding. `uses`: the devices that they have now. False if
 * one of these devices is not local to the node, because pods of other nodes may take such a device, too.
 */
export function mayDependOnOrder(pods: readonly PodClaims[], uses: readonly Use[]): boolean {
  return isOrderSensitive(pods) && uses.every(({ device }) => device.isLocal);
}

/** Whether the order of binding may decide which devices the pods get. */
function isOrderSensitive(pods: readonly PodClaims[]): boolean {
  if (pods.length < 2) return false;
  if (pods.some(isFlexible)) return true;
  const isAlike = new Set(pods.flat()).size < 2;
  return !isAlike && pods.some((pod) => pickiness(pod) > 0);
}

/**
 * With up to this many kinds of pods with alternatives, all orders are tried. With more kinds, two orders are tried.
 */
const MOST_PERMUTED = 3;

/**
 * The orders to try. Pods that may take the most devices come first: those with alternatives, then those with the
 * fewest rules. Equal pods with alternatives stay together, because each of them may take the same devices.
 */
function ordersOf(pods: readonly PodClaims[]): readonly (readonly PodClaims[])[] {
  const flexible = pods.filter(isFlexible);
  const others = pods
    .filter((pod) => !isFlexible(pod))
    .map((pod) => ({ pod, pickiness: pickiness(pod) }))
    .sort((a, b) => a.pickiness - b.pickiness)
    .map(({ pod }) => pod);
  const kinds = kindsOf(flexible);
  const ways = kinds.length > MOST_PERMUTED ? [kinds, kinds.toReversed()] : permutations(kinds);
  return ways.map((way) => [...way.flat(), ...others]);
}

/** The pods in groups of equal claims. Equal claims share their spec objects. */
function kindsOf(pods: readonly PodClaims[]): readonly (readonly PodClaims[])[] {
  const kinds: PodClaims[][] = [];
  for (const pod of pods) {
    const kind = kinds.find(
      ([one = []]) => one.length === pod.length && pod.every((spec, at) => spec === one[at]),
    );
    if (kind === undefined) kinds.push([pod]);
    else kind.push(pod);
  }
  return kinds;
}

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((item, at) =>
    permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]),
  );
}

function isFlexible(pod: PodClaims): boolean {
  return pod.some(({ requests }) => requests.some((alternatives) => alternatives.length > 1));
}

/** How many constraints and selectors the pod's resource claims have, without the selectors of their DeviceClasses. */
function pickiness(pod: PodClaims): number {
  return pod.reduce(
    (sum, { constraints, requests }) =>
      sum +
      constraints.length +
      requests
        .flat()
        .reduce((more, { selectors, ofClass }) => more + selectors.length - ofClass, 0),
    0,
  );
}
