/**
 * Changes that another program undoes each time, such as a finalizer that was added. Each program would react to the
 * other's write at once, without end. So the wait before the next write doubles each time.
 */

import type { KubeObject } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Milliseconds after which a change that no program has undone is no longer contested. */
const FORGOTTEN_MS = 60 * 60_000;

/** How often the change was made on an object, and when last, by the monotonic clock. */
interface Contest {
  readonly times: number;
  readonly atMs: number;
}

/** Decides when a change may be made on an object once more. Each instance is for one kind of change. */
export class ContestedChanges {
  readonly #clock: Pick<Clock, "elapsedMs">;
  /** Contests by UID of the object, the oldest first. */
  readonly #contests = new Map<string, Contest>();

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /**
   * Call it for an object that needs the change. If `waitMs` is 0, make it now, which counts as the `times`th time. Else
   * call again after that time.
   */
  next({ metadata }: KubeObject): { readonly waitMs: number; readonly times: number } {
    const uid = metadata.uid ?? metadata.name;
    const nowMs = this.#clock.elapsedMs();
    this.#forget(nowMs);
    const { times, atMs } = this.#contests.get(uid) ?? { times: 0, atMs: nowMs };
    const restMs = times === 0 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (times - 1), LONGEST_WAIT_MS);
    const waitMs = Math.max(0, atMs + restMs - nowMs);
    if (waitMs > 0) return { waitMs, times };
    this.#contests.delete(uid);
    this.#contests.set(uid, { times: times + 1, atMs: nowMs });
    return { waitMs: 0, times: times + 1 };
  }

  #forget(nowMs: number): void {
    for (const [uid, { atMs }] of this.#contests) {
      if (nowMs - atMs < FORGOTTEN_MS) return;
      this.#contests.delete(uid);
    }
  }
}
