/** When a Job may try again: ten seconds after a failed pod, doubling with each further one, ten minutes at most. */
import type { Job } from "../../../apis/apps/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { fromRfc3339 } from "../../../base/clock.ts";

const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 600_000;

/** Failures in a row, and when the last of them was. */
interface Failures {
  readonly count: number;
  readonly lastMs: number;
}

/** Remembers failures by Job, from one success to the next. */
export class Retries {
  readonly #failures = new Map<string, Failures>();

  /** Pods that ended since the last look. */
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

  /** How long the next pod has to wait; 0 = not at all. */
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
