/** The back-off of a Job: 10 s after a failed pod, doubled with each further failure, at most 10 min. */
import type { Job } from "../../../apis/apps/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { fromRfc3339 } from "../../../base/clock.ts";

const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 600_000;

/** Number of failures since the last success, and the time of the last one. */
interface Failures {
  readonly count: number;
  readonly lastMs: number;
}

/** Keeps the failures of each Job. A success resets them. */
export class Retries {
  readonly #failures = new Map<string, Failures>();

  /** Records pods that ended since the last reconcile. */
  note(job: Job, finished: readonly Pod[], nowMs: number): void {
    const key = job.metadata.uid ?? "";
    for (const pod of finished) {
      if (pod.status?.phase === "Succeeded") this.#failures.delete(key);
      else {
        const { count = 0, lastMs = 0 } = this.#failures.get(key) ?? {};
        const atMs = Math.min(nowMs, endedMs(pod, nowMs));
        this.#failures.set(key, { count: count + 1, lastMs: Math.max(lastMs, atMs) });
      }
    }
  }

  /** How long the next pod must wait; 0 means not at all. */
  waitMs(job: Job, nowMs: number): number {
    const known = this.#failures.get(job.metadata.uid ?? "");
    if (known === undefined) return 0;
    const backoff = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, known.count - 1));
    return Math.max(0, known.lastMs + backoff - nowMs);
  }

  forget(job: Job): void {
    this.#failures.delete(job.metadata.uid ?? "");
  }
}

function endedMs(pod: Pod, nowMs: number): number {
  const state = pod.status?.containerStatuses?.[0]?.["state"] as
    | { terminated?: { finishedAt?: string } }
    | undefined;
  return fromRfc3339(state?.terminated?.finishedAt) ?? nowMs;
}
