/**
 * Whether pods that are planned for one node find their devices there in whichever order kube-scheduler binds them. Of
 * `firstAvailable` it takes the first alternative that is free at that moment: if such a pod comes first, it may take
 * devices that the plan has for others. A pod without constraints or selectors may do so, too. upstream plans in one
 * order alone (pkg/scheduling/dynamicresources/allocator.go).
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

/** Claims of one pod that get devices on the node. */
export type PodClaims = readonly ClaimSpec[];

/** What a node is asked: `held`, what other pods of the node take before. */
export type NodeAsk<S> = (claims: PodClaims, held: readonly Use[], from: S) => DeviceQuestion<S>;

const IN_ANOTHER_ORDER: SearchFailure = {
  problem:
    "pods that are planned for the node may take its devices first, because kube-scheduler takes the first alternative that fits",
};

/**
 * The last of `pods` asks. Its devices, and those of all pods together, in the order that leaves the fewest devices; or
 * why there is none for it. `from`: the node as the other pods have narrowed it.
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
 * Whether pods of one node may find other devices in another order of binding. `uses`: the devices that they have now.
 * Only devices of the node itself are asked about: others are taken by pods of other nodes, too.
 */
export function mayDependOnOrder(pods: readonly PodClaims[], uses: readonly Use[]): boolean {
  return isOrderSensitive(pods) && uses.every(({ device }) => device.isLocal);
}

/** Whether another order of binding may leave other devices. */
function isOrderSensitive(pods: readonly PodClaims[]): boolean {
  if (pods.length < 2) return false;
  if (pods.some(isFlexible)) return true;
  const isAlike = new Set(pods.flat()).size < 2;
  return !isAlike && pods.some((pod) => pickiness(pod) > 0);
}

/** Kinds of pods with alternatives whose orders are all tried. Of more, two orders are. */
const MOST_PERMUTED = 3;

/**
 * Pods that may take most go first: those with alternatives, then those that any device suits. Alike pods with
 * alternatives stay together, because what one of them takes first another may take as well.
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

/** Claims that are alike share their specs. */
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

/** How many rules choose among the devices of a class. */
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
