/**
 * Pods whose planned nodes joined and then refused them, because another program labels or taints Nodes. Each plan
 * would buy one more such node. So from the second node on the pods wait before a further one, longer each time. Pods
 * of one owner wait together. The waits are kept in memory. karpenter-ts only.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { plannedAs } from "./planned-pods.ts";

/** Milliseconds after the second refusal. Each further refusal doubles the wait. */
const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** Milliseconds after a wait until the refusals are forgotten. */
const FORGET_MS = 30 * 60_000;

interface Refusals {
  readonly count: number;
  /** Until when no node is bought, by the monotonic clock. */
  readonly untilMs: number;
}

/** How long pods wait before the next node is bought for them. Times are those of the monotonic clock. */
export class RefusedNodes {
  /** By owner, see `plannedAs`. */
  readonly #refusals = new Map<string, Refusals>();

  /** The planned nodes of these pods refuse them. Refusals during a wait do not prolong it. */
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

  /** Milliseconds until a node may be bought for the pod. 0: now. */
  waitMs(pod: Pod, nowMs: number): number {
    if (this.#refusals.size === 0) return 0;
    const { untilMs = nowMs } = this.#refusals.get(plannedAs(pod) ?? "") ?? {};
    return Math.max(0, untilMs - nowMs);
  }

  /** A node has taken the pod, so its owner need not wait. */
  bound(pod: Pod): void {
    if (this.#refusals.size > 0) this.#refusals.delete(plannedAs(pod) ?? "");
  }
}

function waitAfter(count: number): number {
  return count === 1 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - 2));
}
