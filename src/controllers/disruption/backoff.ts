/**
 * Patience with pools whose replacements do not come up (no capacity, nodes that never join): each failure
 * in a row doubles the wait before the next one. Without it the same node would be closed and opened again
 * every few seconds.
 */

const FIRST_MS = 60_000;
const MOST_MS = 10 * 60_000;

export interface Backoff {
  /**
   * Until when they are not to be tried, the last of them. A command fails once, however many of a pool's replacements
   * it had and however often its end is tried again.
   */
  failed(commandId: string, poolIds: readonly string[], nowMs: number): number;
  succeeded(poolId: string): void;
  /** Pools that are not to be tried at this moment, and until when. */
  pools(nowMs: number): ReadonlyMap<string, number>;
}

interface Wait {
  /** Whose failure was the last. */
  readonly commandId: string;
  readonly waitMs: number;
  readonly untilMs: number;
}

export function createBackoff(): Backoff {
  const waits = new Map<string, Wait>();

  function waitOf(commandId: string, poolId: string, nowMs: number): Wait {
    const before = waits.get(poolId);
    if (before?.commandId === commandId) return before;
    const waitMs = before === undefined ? FIRST_MS : Math.min(MOST_MS, 2 * before.waitMs);
    return { commandId, waitMs, untilMs: nowMs + waitMs };
  }

  return {
    failed: (commandId, poolIds, nowMs) => {
      let lastMs = nowMs;
      for (const poolId of poolIds) {
        const wait = waitOf(commandId, poolId, nowMs);
        waits.set(poolId, wait);
        lastMs = Math.max(lastMs, wait.untilMs);
      }
      return lastMs;
    },
    succeeded: (poolId) => {
      waits.delete(poolId);
    },
    pools: (nowMs) =>
      new Map(
        [...waits]
          .filter(([, { untilMs }]) => nowMs < untilMs)
          .map(([id, { untilMs }]) => [id, untilMs]),
      ),
  };
}
