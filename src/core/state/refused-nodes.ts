/**
 * Delays new nodes for pods whose planned nodes joined the cluster but do not accept them, because another program
 * labels or taints Nodes. Without a delay, each plan would launch one more such node. After the first refusal the next
 * node is launched immediately. After the second, the pods wait a minute, and each further refusal doubles the wait.
 * Pods of one owner wait together. The waits are kept in memory. karpenter-ts only.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { plannedAs } from "./planned-pods.ts";

/** The wait after the second refusal. Each further refusal doubles it. */
const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** This long after the end of a wait, the refusals of an owner no longer count. */
const FORGET_MS = 30 * 60_000;

interface Refusals {
  readonly count: number;
  /** Until when no node is launched for these pods, by the monotonic clock. */
  readonly untilMs: number;
}

/** How long pods wait before a node is launched for them. All times are those of the monotonic clock. */
export class RefusedNodes {
  /** The refusals by UID of the pods' owner ({@link plannedAs}). */
  readonly #refusals = new Map<string, Refusals>();

  /** Records that the planned nodes of these pods do not accept them. Refusals during a wait do not prolong it. */
  refused(pods: readonly Pod[], nowMs: number): void {
    for (const [owner, { untilMs }] of this.#refusals)
      if (nowMs - untilMs > FORGET_MS) this.#refusals.delete(owner);
    for (const owner of new Set(pods.map(plannedAs))) {
      if (owner === undefined) continue;
      const known = this.#refusals.get(owner);
      if (known !== undefined && nowMs < known.untilMs) continue;
      const count = (known?.count ?? 0) + 1;
      this.#refusals.set(owner, { count, untilMs: nowMs + waitAfter(count) });
    }
  }

  /** Milliseconds until a node may be launched for the pod. 0: now. */
  waitMs(pod: Pod, nowMs: number): number {
    if (this.#refusals.size === 0) return 0;
    const { untilMs = nowMs } = this.#refusals.get(plannedAs(pod) ?? "") ?? {};
    return Math.max(0, untilMs - nowMs);
  }

  /** Records that the pod was bound to a node. So the pods of its owner need not wait any more. */
  bound(pod: Pod): void {
    if (this.#refusals.size > 0) this.#refusals.delete(plannedAs(pod) ?? "");
  }
}

function waitAfter(count: number): number {
  return count === 1 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - 2));
}
