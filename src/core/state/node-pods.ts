/**
 * The pods of one node in order of their keys, and the sums of what they request. Both are kept up with each change,
 * because pods change by the thousand while others look at the node now and then. The sums are those that adding all up
 * would give.
 */
import { isOwnedByDaemonSet, type Pod } from "../../apis/core/pod.ts";
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import type { Resources } from "../../apis/resources.ts";

/** What the pods of a node request: all of them, and those of DaemonSets. */
export interface PodSums {
  readonly requests: Resources;
  readonly daemonRequests: Resources;
}

/** What is kept up of the pods of a node. */
export interface KeptSums extends PodSums {
  /** Those that would need another node, by key. */
  readonly reschedulable: readonly Pod[];
}

type Sum = Record<string, number>;

interface Sums {
  readonly requests: Sum;
  readonly daemonRequests: Sum;
}

/** The pods of one node, sorted by key. */
export class NodePods {
  readonly #keys: string[] = [];
  readonly #pods: Pod[] = [];
  /** For each pod, asked when it is added, because later its object is no longer in the CPU cache. */
  readonly #isReschedulable: boolean[] = [];
  /** Undefined: to be added up anew. */
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
      this.#isReschedulable[at] = isReschedulable(pod);
      if (isAlike(before, pod)) return;
      this.#add(pod);
      this.#subtract(before);
    } else {
      this.#keys.splice(at, 0, key);
      this.#pods.splice(at, 0, pod);
      this.#isReschedulable.splice(at, 0, isReschedulable(pod));
      this.#add(pod);
    }
  }

  delete(key: string): void {
    const at = this.#placeOf(key);
    if (this.#keys[at] !== key) return;
    this.#keys.splice(at, 1);
    this.#isReschedulable.splice(at, 1);
    const [pod] = this.#pods.splice(at, 1);
    this.#subtract(pod as Pod);
  }

  /** A copy. */
  list(): readonly Pod[] {
    return this.#pods.slice();
  }

  /** A copy. */
  sums(): KeptSums {
    const sums = this.#sums ?? sumsOf(this.#pods);
    this.#sums = areExact(sums) ? sums : undefined;
    const { requests, daemonRequests } = sums;
    return {
      requests: inOrder(requests),
      daemonRequests: inOrder(daemonRequests),
      reschedulable: this.#pods.filter((_, at) => this.#isReschedulable[at]),
    };
  }

  #add(pod: Pod): void {
    if (this.#sums === undefined) return;
    addPod(this.#sums, pod);
    // What was rounded once cannot be subtracted again.
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

  /** Where the key is, or would be. */
  #placeOf(key: string): number {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#keys[middle] as string) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The same sums of pods that nobody keeps. */
export function podSums(pods: readonly Pod[]): PodSums {
  const { requests, daemonRequests } = sumsOf(pods);
  return { requests: inOrder(requests), daemonRequests: inOrder(daemonRequests) };
}

function sumsOf(pods: readonly Pod[]): Sums {
  const sums = { requests: {}, daemonRequests: {} };
  for (const pod of pods) addPod(sums, pod);
  return sums;
}

/** A copy with its names in order, whichever pod came first. */
function inOrder(sum: Sum): Resources {
  const sorted: Sum = {};
  for (const name of Object.keys(sum).sort()) sorted[name] = sum[name] as number;
  return sorted;
}

function addPod({ requests, daemonRequests }: Sums, pod: Pod): void {
  const wanted = podRequests(pod);
  addTo(requests, wanted);
  if (isOwnedByDaemonSet(pod)) addTo(daemonRequests, wanted);
}

function addTo(sum: Sum, more: Resources): void {
  for (const name in more) sum[name] = (sum[name] ?? 0) + (more[name] as number);
}

/** False: nothing is left of a resource, and whether a pod still names it must be looked up. */
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

/** Whole numbers of this size add up to the same in every order. */
function isExact(sum: Sum): boolean {
  for (const name in sum) if (!Number.isSafeInteger(sum[name])) return false;
  return true;
}

function isAlike(a: Pod, b: Pod): boolean {
  return podRequests(a) === podRequests(b) && isOwnedByDaemonSet(a) === isOwnedByDaemonSet(b);
}
