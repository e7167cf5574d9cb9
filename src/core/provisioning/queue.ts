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

  constructor(pods: readonly QueuedPod[]) {
    this.#items = [...pods].sort(compare);
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

/** cpu, then memory, largest first; then the oldest; then UID, so that arrival never matters. */
function compare(a: QueuedPod, b: QueuedPod): number {
  const [ar, br] = [a.podClass.requests, b.podClass.requests];
  return (
    (br["cpu"] ?? 0) - (ar["cpu"] ?? 0) ||
    (br["memory"] ?? 0) - (ar["memory"] ?? 0) ||
    order(a.pod.metadata.creationTimestamp ?? "", b.pod.metadata.creationTimestamp ?? "") ||
    order(a.pod.metadata.uid ?? "", b.pod.metadata.uid ?? "") ||
    order(keyOf(a.pod), keyOf(b.pod))
  );
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
