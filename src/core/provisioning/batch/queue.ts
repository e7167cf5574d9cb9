/**
 * The order in which pods are placed: largest first, so that small pods fill the gaps. A pod without a place is tried
 * again after other pods, because it may need to be near one of them.
 * upstream: pkg/controllers/provisioning/scheduling/queue.go
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { keyOf } from "../../../apis/meta.ts";
import type { Resources } from "../../../apis/resources.ts";
import { atOnce, eachInSteps, mergeInSteps, type Steps } from "../../../base/steps.ts";
import { compareText, MOST_AT_ONCE, sortedByTextInSteps } from "../../../base/text-order.ts";
import { within } from "../../../base/within.ts";
import type { PodClass } from "./pod-class.ts";

export interface QueuedPod {
  readonly pod: Pod;
  readonly podClass: PodClass;
}

/** Pods of one class (equal for planning) that were put back right after each other. */
interface Returned {
  readonly podClass: PodClass;
  readonly items: QueuedPod[];
  /** How many of `items` were popped again. */
  taken: number;
}

interface QueueOptions {
  readonly importantFirst?: boolean | undefined;
  readonly isEarly?: ((podClass: PodClass) => boolean) | undefined;
}

export class Queue {
  readonly #items: readonly QueuedPod[];
  #head = 0;
  /** Pods that were put back, in this order. They are popped after `#items`. */
  #returned: Returned[] = [];
  #firstReturned = 0;
  #length: number;
  /** Pods that are tried before all others, and again after each placement. */
  readonly #early: QueuedPod[];
  readonly #isEarly: (podClass: PodClass) => boolean;
  /** Index of the next early pod to try. The early pods before it were tried since the last placement of any pod. */
  #nextEarly = 0;
  /**
   * Number of pods that were put back, or skipped because their class is stuck, since the last placement. If it reaches
   * the number of pods that are left, planning ends.
   */
  #inVain = 0;
  #isOut = false;

  /** `pods` must be sorted by {@link inOrder}. */
  constructor(
    pods: readonly QueuedPod[],
    { importantFirst = false, isEarly = NOBODY }: QueueOptions = {},
  ) {
    const items = importantFirst ? byPriority(pods).flat() : pods;
    this.#isEarly = isEarly;
    this.#early = isEarly === NOBODY ? [] : items.filter(({ podClass }) => isEarly(podClass));
    this.#items =
      this.#early.length === 0 ? items : items.filter(({ podClass }) => !isEarly(podClass));
    this.#length = items.length;
  }

  /**
   * The next pod to try. Undefined: all pods are placed, or a full round placed none. Pods whose class is `stuck`,
   * because nothing has changed for it since its last try, are skipped.
   */
  pop(stuck: (podClass: PodClass) => boolean = NOBODY): QueuedPod | undefined {
    if (this.#isOut) {
      this.#inVain = 0;
      this.#nextEarly = 0;
    }
    this.#isOut = false;
    const [early] = this.#early.splice(this.#nextEarly, 1);
    if (early !== undefined) return this.#takeOut(early);
    const item = this.#items[this.#head];
    if (item !== undefined) {
      this.#head++;
      return this.#takeOut(item);
    }
    while (this.#length > 0 && this.#inVain < this.#length) {
      const first = this.#returned[this.#firstReturned] as Returned;
      const left = first.items.length - first.taken;
      if (left > 0 && !stuck(first.podClass))
        return this.#takeOut(first.items[first.taken++] as QueuedPod);
      this.#firstReturned++;
      if (left > 0) this.#returned.push(first);
      this.#inVain += left;
      this.#tidy();
    }
    return undefined;
  }

  /** Puts the pod back. An early pod is tried again after the next placement, any other pod after all others. */
  giveBack(item: QueuedPod): void {
    this.#isOut = false;
    this.#inVain++;
    this.#length++;
    if (this.#isEarly(item.podClass)) {
      this.#early.splice(this.#nextEarly++, 0, item);
      return;
    }
    const last = this.#returned.at(-1);
    const isOpen = last?.podClass === item.podClass && last.taken === 0;
    if (isOpen) last.items.push(item);
    else this.#returned.push({ podClass: item.podClass, items: [item], taken: 0 });
  }

  rest(): QueuedPod[] {
    const returned = this.#returned.slice(this.#firstReturned);
    return [
      ...this.#early,
      ...this.#items.slice(this.#head),
      ...returned.flatMap(({ items, taken }) => items.slice(taken)),
    ];
  }

  #takeOut(item: QueuedPod): QueuedPod {
    this.#length--;
    this.#isOut = true;
    return item;
  }

  #tidy(): void {
    if (this.#firstReturned < 4_096 || this.#firstReturned * 2 < this.#returned.length) return;
    this.#returned = this.#returned.slice(this.#firstReturned);
    this.#firstReturned = 0;
  }
}

const NOBODY = (_: PodClass): boolean => false;

export function priorityOf({ spec }: Pod): number {
  return spec.priority ?? 0;
}

function byPriority(pods: readonly QueuedPod[]): QueuedPod[][] {
  const levels = new Map<number, QueuedPod[]>();
  for (const item of pods) within(levels, priorityOf(item.pod), () => []).push(item);
  return [...levels].sort(([a], [b]) => b - a).map(([, level]) => level);
}

/** Pods with equal requests and creation time. */
interface Level {
  readonly cpu: number;
  readonly memory: number;
  readonly created: string;
  readonly pods: QueuedPod[];
  readonly uids: string[];
}

/** Sorted by cpu, then memory, largest first; then the oldest; then UID, so that the order of arrival has no effect. */
export function inOrder<T extends QueuedPod>(pods: readonly T[]): T[] {
  return pods.length <= FEW ? pods.toSorted(largestFirst) : (atOnce(inOrderInSteps(pods)) as T[]);
}

/**
 * Up to this many pods are sorted by a plain comparison, without grouping them first. What-if questions sort the pods
 * of thousands of nodes, and each node has few.
 */
const FEW = 64;

function largestFirst(a: QueuedPod, b: QueuedPod): number {
  const { cpu = 0, memory = 0 } = a.podClass.requests;
  const { cpu: otherCpu = 0, memory: otherMemory = 0 } = b.podClass.requests;
  return otherCpu - cpu || otherMemory - memory || oldestFirst(a, b);
}

function oldestFirst(a: QueuedPod, b: QueuedPod): number {
  const [own, other] = [a.pod.metadata, b.pod.metadata];
  return (
    compareText(own.creationTimestamp ?? "", other.creationTimestamp ?? "") || byUidThenKey(a, b)
  );
}

/** Like {@link inOrder}, in steps, for long lists. */
export function* inOrderInSteps(pods: readonly QueuedPod[]): Steps<QueuedPod[]> {
  const levels = new Levels();
  yield* eachInSteps(pods, (item) => levels.add(item));
  const sorted: QueuedPod[] = [];
  for (const level of levels.inOrder()) {
    for (const item of yield* byUid(level)) sorted.push(item);
    yield;
  }
  return sorted;
}

/** Groups pods by requests and creation time. With a million pods, this reading is most of the work. */
class Levels {
  readonly #byText = new Map<string, Level>();
  /** The last level for each requests object. Pods with equal requests share the object. */
  readonly #ofRequests = new Map<Resources, Level>();

  add(item: QueuedPod): void {
    const { pod, podClass } = item;
    const { creationTimestamp = "", uid = "" } = pod.metadata;
    const { requests } = podClass;
    let level = this.#ofRequests.get(requests);
    if (level === undefined || level.created !== creationTimestamp) {
      level = this.#level(requests, creationTimestamp);
      this.#ofRequests.set(requests, level);
    }
    level.pods.push(item);
    level.uids.push(uid);
  }

  inOrder(): Level[] {
    return [...this.#byText.values()].sort(
      (a, b) => b.cpu - a.cpu || b.memory - a.memory || compareText(a.created, b.created),
    );
  }

  #level({ cpu = 0, memory = 0 }: Resources, created: string): Level {
    const make = (): Level => ({ cpu, memory, created, pods: [], uids: [] });
    return within(this.#byText, `${cpu} ${memory} ${created}`, make);
  }
}

function* byUid({ pods, uids }: Level): Steps<readonly QueuedPod[]> {
  if (pods.length <= MOST_AT_ONCE) return yield* sortedByTextInSteps(pods, uids, byKey);
  let sorted: readonly QueuedPod[] = [];
  for (let at = 0; at < pods.length; at += MOST_AT_ONCE) {
    if (at > 0) yield;
    const end = at + MOST_AT_ONCE;
    const run = yield* sortedByTextInSteps(pods.slice(at, end), uids.slice(at, end), byKey);
    sorted = yield* mergeInSteps(sorted, run, byUidThenKey);
  }
  return sorted;
}

function byUidThenKey(a: QueuedPod, b: QueuedPod): number {
  return compareText(a.pod.metadata.uid ?? "", b.pod.metadata.uid ?? "") || byKey(a, b);
}

/** Sorts by the keys of the pods. */
export function byKey(a: { readonly pod: Pod }, b: { readonly pod: Pod }): number {
  return compareText(keyOf(a.pod), keyOf(b.pod));
}
