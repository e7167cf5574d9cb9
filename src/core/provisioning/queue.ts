/**
 * The order in which pods are placed: large ones first, so that small ones fill the gaps. Pods that
 * failed are tried again as long as others still find a place, because their neighbours may be what
 * they were waiting for. upstream: pkg/controllers/provisioning/scheduling/queue.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { atOnce, type Steps, sortInSteps } from "../../base/steps.ts";
import type { PodClass } from "./pod-class.ts";

export interface QueuedPod {
  readonly pod: Pod;
  readonly podClass: PodClass;
}

/** Pods of one class that came back one after the other. */
interface Returned {
  readonly podClass: PodClass;
  readonly items: QueuedPod[];
  /** How many of them have been taken again. */
  taken: number;
}

export class Queue {
  readonly #items: readonly QueuedPod[];
  #head = 0;
  /** Behind the items, in the order in which they came back. */
  #returned: Returned[] = [];
  #firstReturned = 0;
  #length: number;
  /** Pods that came back since one did not: a full round of them ends it. */
  #inVain = 0;
  #isOut = false;

  /** `pods`: {@link inOrder}. `importantFirst`: by priority before all else. */
  constructor(pods: readonly QueuedPod[], importantFirst = false) {
    this.#items = importantFirst ? byPriority(pods).flat() : pods;
    this.#length = this.#items.length;
  }

  get length(): number {
    return this.#length;
  }

  /**
   * The next pod to try; undefined when all are placed or a full round changed nothing. Pods that came
   * back are passed over, class by class, while they are `stuck`: nothing has changed for them.
   */
  pop(stuck: (podClass: PodClass) => boolean = NOBODY): QueuedPod | undefined {
    if (this.#isOut) this.#inVain = 0;
    this.#isOut = false;
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

  /** To be tried again after the others. */
  giveBack(item: QueuedPod): void {
    this.#isOut = false;
    this.#inVain++;
    this.#length++;
    const last = this.#returned.at(-1);
    const isOpen = last?.podClass === item.podClass && last.taken === 0;
    if (isOpen) last.items.push(item);
    else this.#returned.push({ podClass: item.podClass, items: [item], taken: 0 });
  }

  /** Those that were not placed. */
  rest(): QueuedPod[] {
    const returned = this.#returned.slice(this.#firstReturned);
    return [
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

const NOBODY = () => false;

export function priorityOf({ spec }: Pod): number {
  return spec.priority ?? 0;
}

function byPriority(pods: readonly QueuedPod[]): QueuedPod[][] {
  const levels = new Map<number, QueuedPod[]>();
  for (const item of pods) {
    const priority = priorityOf(item.pod);
    const level = levels.get(priority);
    if (level === undefined) levels.set(priority, [item]);
    else level.push(item);
  }
  return [...levels].sort(([a], [b]) => b - a).map(([, level]) => level);
}

/** Pods that are equally large. */
interface Size {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: QueuedPod[];
}

const PODS_PER_STEP = 256;

/** cpu, then memory, largest first; then the oldest; then UID, so that arrival never matters. */
export function inOrder(pods: readonly QueuedPod[]): QueuedPod[] {
  return atOnce(inOrderInSteps(pods));
}

/** As {@link inOrder}. */
export function* inOrderInSteps(pods: readonly QueuedPod[]): Steps<QueuedPod[]> {
  const sizes = new Map<string, Size>();
  const ofClass = new Map<PodClass, Size>();
  for (const item of pods) {
    let size = ofClass.get(item.podClass);
    if (size === undefined) {
      const { cpu = 0, memory = 0 } = item.podClass.requests;
      const text = `${cpu} ${memory}`;
      size = sizes.get(text) ?? { cpu, memory, pods: [] };
      sizes.set(text, size);
      ofClass.set(item.podClass, size);
    }
    size.pods.push(item);
  }
  const sorted: QueuedPod[] = [];
  for (const size of [...sizes.values()].sort((a, b) => b.cpu - a.cpu || b.memory - a.memory)) {
    for (const item of yield* sortInSteps(size.pods, oldestFirst)) sorted.push(item);
    if (size.pods.length > PODS_PER_STEP) yield;
  }
  return sorted;
}

function oldestFirst(a: QueuedPod, b: QueuedPod): number {
  return (
    order(a.pod.metadata.creationTimestamp ?? "", b.pod.metadata.creationTimestamp ?? "") ||
    order(a.pod.metadata.uid ?? "", b.pod.metadata.uid ?? "") ||
    order(keyOf(a.pod), keyOf(b.pod))
  );
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
