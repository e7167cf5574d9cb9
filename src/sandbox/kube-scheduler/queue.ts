/**
 * Pods that wait for a place. Three rooms, as in kube-scheduler: active (by priority, then time),
 * backoff (tried again soon), unschedulable (tried again when something changes that could help, and
 * after five minutes at the latest). Time is given by the caller.
 */
import { Heap } from "../../base/heap.ts";
import type { FilterName } from "./filters/filter.ts";
import type { PodInfo } from "./pod-info.ts";

const INITIAL_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 10_000;
/** A pod that nothing woke is tried again after this. */
const MAX_UNSCHEDULABLE_MS = 300_000;

export interface Waiting {
  readonly pod: PodInfo;
  /** When it first came into the queue: the order among equal priorities. */
  readonly sinceMs: number;
  readonly attempts: number;
  readonly rejectedBy: ReadonlySet<FilterName>;
  /** When it was last found to fit nowhere. */
  readonly triedAtMs: number;
}

export class SchedulingQueue {
  readonly #active = new Heap<Waiting>(isBefore);
  /** Where each pod is; entries in the heap that are not the current one are stale and skipped. */
  readonly #activeByKey = new Map<string, Waiting>();
  readonly #backoff = new Map<string, Waiting & { readonly untilMs: number }>();
  readonly #unschedulable = new Map<string, Waiting>();

  /** Pods that fit nowhere for now, by key. */
  get unschedulable(): readonly Waiting[] {
    return [...this.#unschedulable.values()].sort((a, b) => (a.pod.key < b.pod.key ? -1 : 1));
  }

  get size(): number {
    return this.#activeByKey.size + this.#backoff.size + this.#unschedulable.size;
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  /** A new pod, or a new version of a waiting one, which is worth another try. */
  add(pod: PodInfo, nowMs: number): void {
    const known = this.#find(pod.key);
    this.remove(pod.key);
    this.#activate({
      pod,
      sinceMs: known?.sinceMs ?? nowMs,
      attempts: known?.attempts ?? 0,
      rejectedBy: known?.rejectedBy ?? new Set(),
      triedAtMs: known?.triedAtMs ?? 0,
    });
  }

  /** A new version of a waiting pod whose change cannot help it: it stays where it is. */
  refresh(pod: PodInfo): void {
    for (const room of [this.#unschedulable, this.#backoff] as Map<string, Waiting>[]) {
      const known = room.get(pod.key);
      if (known !== undefined) room.set(pod.key, { ...known, pod });
    }
    const active = this.#activeByKey.get(pod.key);
    if (active !== undefined) this.#activate({ ...active, pod });
  }

  remove(key: string): void {
    this.#activeByKey.delete(key);
    this.#backoff.delete(key);
    this.#unschedulable.delete(key);
  }

  /** The next pod to try. */
  pop(nowMs: number): Waiting | undefined {
    this.#flush(nowMs);
    for (;;) {
      const next = this.#active.pop();
      if (next === undefined) return undefined;
      if (this.#activeByKey.get(next.pod.key) !== next) continue;
      this.#activeByKey.delete(next.pod.key);
      return next;
    }
  }

  /** It fits nowhere: wait for a change. */
  giveUp(waiting: Waiting, rejectedBy: ReadonlySet<FilterName>, nowMs: number): void {
    const attempts = waiting.attempts + 1;
    this.#unschedulable.set(waiting.pod.key, {
      ...waiting,
      attempts,
      rejectedBy,
      triedAtMs: nowMs,
    });
  }

  /** Something went wrong on the way (a refused binding): try again after the backoff. */
  retryLater(waiting: Waiting, nowMs: number): void {
    const attempts = waiting.attempts + 1;
    const untilMs = nowMs + backoffMs(attempts);
    this.#backoff.set(waiting.pod.key, { ...waiting, attempts, triedAtMs: nowMs, untilMs });
  }

  /** Moves the pods that `helps` says a change may help. */
  wake(helps: (waiting: Waiting) => boolean, nowMs: number): void {
    if (this.#unschedulable.size === 0) return;
    for (const waiting of this.unschedulable) {
      if (helps(waiting)) this.#move(waiting, nowMs);
    }
  }

  /** When the next pod becomes due by time alone; `undefined` when none waits for time. */
  nextDueMs(): number | undefined {
    let due: number | undefined;
    const earlier = (ms: number): void => {
      due = due === undefined ? ms : Math.min(due, ms);
    };
    for (const { untilMs } of this.#backoff.values()) earlier(untilMs);
    for (const { triedAtMs } of this.#unschedulable.values()) {
      earlier(triedAtMs + MAX_UNSCHEDULABLE_MS);
    }
    return due;
  }

  #flush(nowMs: number): void {
    for (const waiting of [...this.#backoff.values()]) {
      if (waiting.untilMs > nowMs) continue;
      this.#backoff.delete(waiting.pod.key);
      this.#activate(waiting);
    }
    for (const waiting of [...this.#unschedulable.values()]) {
      if (waiting.triedAtMs + MAX_UNSCHEDULABLE_MS <= nowMs) this.#move(waiting, nowMs);
    }
  }

  #move(waiting: Waiting, nowMs: number): void {
    this.#unschedulable.delete(waiting.pod.key);
    const untilMs = waiting.triedAtMs + backoffMs(waiting.attempts);
    if (untilMs > nowMs) this.#backoff.set(waiting.pod.key, { ...waiting, untilMs });
    else this.#activate(waiting);
  }

  #activate(waiting: Waiting): void {
    this.#activeByKey.set(waiting.pod.key, waiting);
    this.#active.push(waiting);
  }

  #find(key: string): Waiting | undefined {
    return this.#activeByKey.get(key) ?? this.#backoff.get(key) ?? this.#unschedulable.get(key);
  }
}

function backoffMs(attempts: number): number {
  return Math.min(
    MAX_BACKOFF_MS,
    INITIAL_BACKOFF_MS * 2 ** Math.min(10, Math.max(0, attempts - 1)),
  );
}

function isBefore(a: Waiting, b: Waiting): boolean {
  if (a.pod.priority !== b.pod.priority) return a.pod.priority > b.pod.priority;
  if (a.sinceMs !== b.sinceMs) return a.sinceMs < b.sinceMs;
  return a.pod.key < b.pod.key;
}
