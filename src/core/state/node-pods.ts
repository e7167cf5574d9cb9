/**
 * The pods of one node, sorted by key (`namespace/name`), and the sums of their requests. When a pod changes, the sums
 * are updated, not computed again. They always equal the sums over all pods of the node.
 */
import { isActive, isOwnedByDaemonSet, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { addToSum, type Resources } from "../../apis/resources.ts";
import { firstNotBelow } from "../../base/sorted.ts";

/** The sums of the requests of all pods on a node, and of its DaemonSet pods. */
export interface PodSums {
  readonly requests: Resources;
  readonly daemonRequests: Resources;
}

/** Lists of pods that matter if their node is removed, each sorted by key. */
export interface SortedPods {
  /** Pods that would need another node. */
  readonly reschedulable: readonly Pod[];
  /** Those of the reschedulable pods that run and are not terminating. */
  readonly movable: readonly Pod[];
  /** Active pods that have any annotation. It may be do-not-disrupt. */
  readonly annotated: readonly Pod[];
}

/** The sums and lists for a node's pods, up to date. */
export interface KeptSums extends PodSums, SortedPods {}

const RESCHEDULABLE = 1;
const MOVABLE = 2;
const ANNOTATED = 4;

/** The empty list, shared by all nodes, because at least one list is empty on most nodes. */
const NO_PODS: readonly Pod[] = [];

type Sum = Record<string, number>;

interface Sums {
  readonly requests: Sum;
  readonly daemonRequests: Sum;
}

/** The pods of one node, sorted by key. */
export class NodePods {
  readonly #keys: string[] = [];
  readonly #pods: Pod[] = [];
  /**
   * For each pod: the lists that contain it, as bits (RESCHEDULABLE, MOVABLE, ANNOTATED). Computed when the pod is
   * added, while its object is still in the CPU cache.
   */
  readonly #marks: number[] = [];
  /** The sums of the pods' requests. Undefined: they must be computed again. */
  #sums: Sums | undefined = { requests: {}, daemonRequests: {} };

  get size(): number {
    return this.#keys.length;
  }

  get(key: string): Pod | undefined {
    const at = this.#placeOf(key);
    return this.#keys[at] === key ? this.#pods[at] : undefined;
  }

  set(key: string, pod: Pod): void {
    const at = this.#placeOf(key);
    if (this.#keys[at] === key) {
      const before = this.#pods[at] as Pod;
      this.#pods[at] = pod;
      this.#marks[at] = marksOf(pod);
      if (isAlike(before, pod)) return;
      this.#add(pod);
      this.#subtract(before);
    } else {
      this.#keys.splice(at, 0, key);
      this.#pods.splice(at, 0, pod);
      this.#marks.splice(at, 0, marksOf(pod));
      this.#add(pod);
    }
  }

  delete(key: string): void {
    const at = this.#placeOf(key);
    if (this.#keys[at] !== key) return;
    this.#keys.splice(at, 1);
    this.#marks.splice(at, 1);
    const [pod] = this.#pods.splice(at, 1);
    this.#subtract(pod as Pod);
  }

  /** A copy of the list of pods, sorted by key. */
  list(): readonly Pod[] {
    return this.#pods.slice();
  }

  /** A copy of the sums and lists. */
  sums(): KeptSums {
    const sums = this.#sums ?? sumsOf(this.#pods);
    this.#sums = areExact(sums) ? sums : undefined;
    const { requests, daemonRequests } = sums;
    return {
      requests: inOrder(requests),
      daemonRequests: inOrder(daemonRequests),
      reschedulable: this.#marked(RESCHEDULABLE),
      movable: this.#marked(MOVABLE),
      annotated: this.#marked(ANNOTATED),
    };
  }

  #marked(mark: number): readonly Pod[] {
    const marked: Pod[] = [];
    for (let at = 0; at < this.#pods.length; at++)
      if (((this.#marks[at] as number) & mark) !== 0) marked.push(this.#pods[at] as Pod);
    return marked.length === 0 ? NO_PODS : marked;
  }

  #add(pod: Pod): void {
    if (this.#sums === undefined) return;
    addPod(this.#sums, pod);
    // Subtracting from rounded sums would be wrong, so they are computed again.
    if (!areExact(this.#sums)) this.#sums = undefined;
  }

  #subtract(pod: Pod): void {
    if (this.#sums === undefined) return;
    const { requests, daemonRequests } = this.#sums;
    const wanted = podRequests(pod);
    const isWhole =
      subtractFrom(requests, wanted) &&
      (!isOwnedByDaemonSet(pod) || subtractFrom(daemonRequests, wanted));
    if (!isWhole) this.#sums = undefined;
  }

  /** The index of the key, or the index at which it would be inserted. */
  #placeOf(key: string): number {
    return firstNotBelow(this.#keys.length, (at) => (this.#keys[at] as string) < key);
  }
}

function marksOf(pod: Pod): number {
  const active = isActive(pod);
  if (!isReschedulable(pod))
    return active && pod.metadata.annotations !== undefined ? ANNOTATED : 0;
  if (!active) return RESCHEDULABLE;
  return RESCHEDULABLE | MOVABLE | (pod.metadata.annotations === undefined ? 0 : ANNOTATED);
}

/** Sorts pods into the lists of {@link SortedPods}, without a {@link NodePods}. */
export function sortPods(pods: readonly Pod[]): SortedPods {
  const having = (mark: number) => pods.filter((pod) => (marksOf(pod) & mark) !== 0);
  return {
    reschedulable: having(RESCHEDULABLE),
    movable: having(MOVABLE),
    annotated: having(ANNOTATED),
  };
}

/** The sums of these pods, without a {@link NodePods}. */
export function podSums(pods: readonly Pod[]): PodSums {
  const { requests, daemonRequests } = sumsOf(pods);
  return { requests: inOrder(requests), daemonRequests: inOrder(daemonRequests) };
}

function sumsOf(pods: readonly Pod[]): Sums {
  const sums = { requests: {}, daemonRequests: {} };
  for (const pod of pods) addPod(sums, pod);
  return sums;
}

/** A copy with sorted names. So the result does not depend on the order of the pods. */
function inOrder(sum: Sum): Resources {
  const sorted: Sum = {};
  for (const name of Object.keys(sum).sort()) sorted[name] = sum[name] as number;
  return sorted;
}

function addPod({ requests, daemonRequests }: Sums, pod: Pod): void {
  const wanted = podRequests(pod);
  addToSum(requests, wanted);
  if (isOwnedByDaemonSet(pod)) addToSum(daemonRequests, wanted);
}

/**
 * Subtracts amounts from a sum. False if an amount becomes zero. Then the sums must be computed again, because a
 * resource that no pod requests must not be in them.
 */
function subtractFrom(sum: Sum, less: Resources): boolean {
  let isWhole = true;
  for (const name in less) {
    const left = (sum[name] ?? 0) - (less[name] as number);
    sum[name] = left;
    if (left === 0) isWhole = false;
  }
  return isWhole;
}

function areExact({ requests, daemonRequests }: Sums): boolean {
  return isExact(requests) && isExact(daemonRequests);
}

/** Whether the sums are exact. Integers up to 2^53 have the same sum in every order; larger ones are rounded. */
function isExact(sum: Sum): boolean {
  for (const name in sum) if (!Number.isSafeInteger(sum[name])) return false;
  return true;
}

/** Whether both pods add the same amounts to the sums. */
function isAlike(a: Pod, b: Pod): boolean {
  return podRequests(a) === podRequests(b) && isOwnedByDaemonSet(a) === isOwnedByDaemonSet(b);
}
