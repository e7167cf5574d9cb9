/**
 * The order in which pods are placed: large ones first, so that small ones fill the gaps. Pods that
 * failed are tried again as long as others still find a place, because their neighbours may be what
 * they were waiting for. upstream: pkg/controllers/provisioning/scheduling/queue.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { PodClass } from "./pod-class.ts";

export interface QueuedPod {
  readonly pod: Pod;
  readonly podClass: PodClass;
}

export class Queue {
  #items: QueuedPod[];
  #head = 0;
  /** How long the queue was when a pod was put back: a full round without a placement ends it. */
  readonly #lengthAtReturn = new Map<QueuedPod, number>();

  /** `importantFirst`: by priority before all else. */
  constructor(pods: readonly QueuedPod[], importantFirst = false) {
    this.#items = importantFirst ? byPriority(pods).flatMap(inOrder) : inOrder(pods);
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The next pod to try; undefined when all are placed or a full round changed nothing. */
  pop(): QueuedPod | undefined {
    const item = this.#items[this.#head];
    if (item === undefined || this.#lengthAtReturn.get(item) === this.length) return undefined;
    this.#head++;
    return item;
  }

  /** To be tried again after the others. */
  giveBack(item: QueuedPod): void {
    this.#items.push(item);
    this.#lengthAtReturn.set(item, this.length);
    if (this.#head > 4_096 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Those that were not placed. */
  rest(): QueuedPod[] {
    return this.#items.slice(this.#head);
  }
}

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

/** cpu, then memory, largest first; then the oldest; then UID, so that arrival never matters. */
export function inOrder(pods: readonly QueuedPod[]): QueuedPod[] {
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
  return [...sizes.values()]
    .sort((a, b) => b.cpu - a.cpu || b.memory - a.memory)
    .flatMap((size) => size.pods.sort(oldestFirst));
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
