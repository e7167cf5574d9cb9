/**
 * The queue of pending pods. It has three parts, as in kube-scheduler. Active pods are tried by priority, then time.
 * Backoff pods are retried soon. Unschedulable pods are retried after a change that could help, and after five
 * minutes at the latest. Callers pass the time.
 * upstream: pkg/scheduler/backend/queue/scheduling_queue.go, pkg/scheduler/framework/plugins/queuesort
 */
import { Heap } from "../../base/heap.ts";
import type { FilterName } from "./filters/filter.ts";
import type { PodInfo } from "./pod-info.ts";

const INITIAL_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 10_000;
/** Milliseconds after which an unschedulable pod is retried without a change. */
const MAX_UNSCHEDULABLE_MS = 300_000;

/** A pod in the queue. */
export interface Waiting {
  readonly pod: PodInfo;
  /**
   * When the pod was last queued: as a new pod, or after an attempt. Pods of equal priority are ordered by this time.
   */
  readonly queuedAtMs: number;
  /**
   * Number of failed attempts of all pods at `queuedAtMs`. It orders pods that were queued in the same
   * millisecond.
   */
  readonly turn: number;
  readonly attempts: number;
  readonly rejectedBy: ReadonlySet<FilterName>;
  /** When the pod was last tried; 0 before the first attempt. */
  readonly triedAtMs: number;
}

/** Pods to schedule, by priority and then by the time they were queued. Failed ones wait for a change or a backoff. */
export class SchedulingQueue {
  readonly #active = new Heap<Waiting>(isBefore);
  /** The current entry of each active pod. Other entries for the pod in the heap are stale, and are skipped. */
  readonly #activeByKey = new Map<string, Waiting>();
  readonly #backoff = new Map<string, Waiting & { readonly untilMs: number }>();
  /** Unschedulable pods in groups that get the same answer, so that equal pods are checked once. */
  readonly #unschedulable = new Map<string, Map<string, Waiting>>();
  readonly #groupOf = new Map<string, string>();
  /** The number of attempts that failed. */
  #turn = 0;
  /** Time before which no pod's backoff ends, so that nothing need be retried unless something changes. */
  #nothingDueBeforeMs = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#activeByKey.size + this.#backoff.size + this.#groupOf.size;
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  /** Adds a new pod, or a new version of a pending pod that may fit now. */
  add(pod: PodInfo, nowMs: number): void {
    const known = this.#find(pod.key);
    this.remove(pod.key);
    this.#activate({
      pod,
      queuedAtMs: known?.queuedAtMs ?? nowMs,
      turn: known?.turn ?? this.#turn,
      attempts: known?.attempts ?? 0,
      rejectedBy: known?.rejectedBy ?? new Set(),
      triedAtMs: known?.triedAtMs ?? 0,
    });
  }

  /** Stores a new version of a pending pod whose change cannot help it. The pod stays in its part of the queue. */
  refresh(pod: PodInfo): void {
    const stuck = this.#stuck(pod.key);
    if (stuck !== undefined) this.#park({ ...stuck, pod });
    const later = this.#backoff.get(pod.key);
    if (later !== undefined) this.#backoff.set(pod.key, { ...later, pod });
    const active = this.#activeByKey.get(pod.key);
    if (active !== undefined) this.#activate({ ...active, pod });
  }

  remove(key: string): void {
    this.#activeByKey.delete(key);
    this.#backoff.delete(key);
    this.#unpark(key);
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

  /** Makes the pod unschedulable, because it fits nowhere. */
  giveUp(waiting: Waiting, rejectedBy: ReadonlySet<FilterName>, nowMs: number): void {
    this.#park({ ...this.#tried(waiting, nowMs), rejectedBy });
  }

  /** Retries the pod after its backoff, because a request failed (such as its binding). */
  retryLater(waiting: Waiting, nowMs: number): void {
    const tried = this.#tried(waiting, nowMs);
    this.#putOff({ ...tried, untilMs: nowMs + backoffMs(tried.attempts) });
  }

  /**
   * The pod after an attempt. Its queue time is now, as upstream, so that pods are retried in the order of
   * their attempts.
   */
  #tried(waiting: Waiting, nowMs: number): Waiting {
    const attempts = waiting.attempts + 1;
    return { ...waiting, attempts, triedAtMs: nowMs, queuedAtMs: nowMs, turn: ++this.#turn };
  }

  /**
   * Retries the pods for which `helps` is true. `helps` is called for one pod of each group with the same shape
   * and the same refusing filters.
   */
  wake(helps: (waiting: Waiting) => boolean, nowMs: number): void {
    for (const group of [...this.#unschedulable.values()]) {
      const first = group.values().next();
      if (first.done === true || !helps(first.value)) continue;
      for (const waiting of [...group.values()]) this.#move(waiting, nowMs);
    }
  }

  /** When the next pod must be retried without any change. Undefined if no pod waits for a time. */
  nextDueMs(): number | undefined {
    if (this.#backoff.size + this.#groupOf.size === 0) return undefined;
    return this.#nothingDueBeforeMs;
  }

  #flush(nowMs: number): void {
    if (nowMs < this.#nothingDueBeforeMs) return;
    for (const waiting of [...this.#backoff.values()]) {
      if (waiting.untilMs > nowMs) continue;
      this.#backoff.delete(waiting.pod.key);
      this.#activate(waiting);
    }
    for (const group of [...this.#unschedulable.values()]) {
      for (const waiting of [...group.values()]) {
        if (waiting.triedAtMs + MAX_UNSCHEDULABLE_MS <= nowMs) this.#move(waiting, nowMs);
      }
    }
    let due = Number.POSITIVE_INFINITY;
    for (const { untilMs } of this.#backoff.values()) due = Math.min(due, untilMs);
    for (const group of this.#unschedulable.values()) {
      for (const { triedAtMs } of group.values()) {
        due = Math.min(due, triedAtMs + MAX_UNSCHEDULABLE_MS);
      }
    }
    this.#nothingDueBeforeMs = due;
  }

  #move(waiting: Waiting, nowMs: number): void {
    this.#unpark(waiting.pod.key);
    const untilMs = waiting.triedAtMs + backoffMs(waiting.attempts);
    if (untilMs > nowMs) this.#putOff({ ...waiting, untilMs });
    else this.#activate(waiting);
  }

  #putOff(waiting: Waiting & { readonly untilMs: number }): void {
    this.#backoff.set(waiting.pod.key, waiting);
    this.#nothingDueBeforeMs = Math.min(this.#nothingDueBeforeMs, waiting.untilMs);
  }

  #park(waiting: Waiting): void {
    const { key, shape } = waiting.pod;
    this.#unpark(key);
    const groupId = `${[...waiting.rejectedBy].sort().join(" ")} ${shape}`;
    const group = this.#unschedulable.get(groupId) ?? new Map<string, Waiting>();
    this.#unschedulable.set(groupId, group.set(key, waiting));
    this.#groupOf.set(key, groupId);
    const dueMs = waiting.triedAtMs + MAX_UNSCHEDULABLE_MS;
    this.#nothingDueBeforeMs = Math.min(this.#nothingDueBeforeMs, dueMs);
  }

  #unpark(key: string): void {
    const groupId = this.#groupOf.get(key);
    if (groupId === undefined) return;
    this.#groupOf.delete(key);
    const group = this.#unschedulable.get(groupId);
    group?.delete(key);
    if (group?.size === 0) this.#unschedulable.delete(groupId);
  }

  #stuck(key: string): Waiting | undefined {
    return this.#unschedulable.get(this.#groupOf.get(key) ?? "")?.get(key);
  }

  #activate(waiting: Waiting): void {
    this.#activeByKey.set(waiting.pod.key, waiting);
    this.#active.push(waiting);
  }

  #find(key: string): Waiting | undefined {
    return this.#activeByKey.get(key) ?? this.#backoff.get(key) ?? this.#stuck(key);
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
  if (a.queuedAtMs !== b.queuedAtMs) return a.queuedAtMs < b.queuedAtMs;
  if (a.turn !== b.turn) return a.turn < b.turn;
  return a.pod.key < b.pod.key;
}
