/**
 * Which group of pools (repack/groups.ts) repack serves next, and how long each has waited for quiet nodes. No group is
 * passed over for ever, and none waits for ever. Kept in memory only: after a restart every group starts again.
 */
import type { MoveRecord } from "./moves.ts";

/** Longest wait for quiet nodes, from the first time that the group could be repacked. */
const LONGEST_WAIT_MS = 30_000;
/**
 * Time between two waits of a group, both counted from their start. The command after a wait may never begin, for
 * example because pods come and go all the time.
 */
const NEXT_WAIT_MS = 5 * 60_000;
/** Entries are dropped after this time, so that deleted pools leave none behind. */
const KEPT_MS = 60 * 60_000;

/** What one answer of a method means for the groups of pools (by id). */
export interface PoolTurns {
  /** Groups that were served. */
  readonly served: readonly ReadonlySet<string>[];
  /** Groups that wait for more of their nodes to become quiet. */
  readonly awaited: readonly ReadonlySet<string>[];
}

interface Turn {
  readonly poolIds: ReadonlySet<string>;
  readonly atMs: number;
}

export class RepackTurns {
  readonly #waits = new Map<string, Turn>();
  readonly #served = new Map<string, Turn>();

  /** How long these pools may still wait. */
  patienceMs(poolIds: ReadonlySet<string>, nowMs: number): number {
    const sinceMs = this.#waits.get(keyOf(poolIds))?.atMs;
    if (sinceMs === undefined || nowMs - sinceMs >= NEXT_WAIT_MS) return LONGEST_WAIT_MS;
    return Math.max(0, sinceMs + LONGEST_WAIT_MS - nowMs);
  }

  /** When these pools were last served; 0: never. */
  lastMs(poolIds: ReadonlySet<string>): number {
    return this.#served.get(keyOf(poolIds))?.atMs ?? 0;
  }

  /** Remembers which groups were served and which wait. */
  note({ served, awaited }: PoolTurns, nowMs: number): void {
    for (const poolIds of awaited) this.#wait(poolIds, nowMs);
    for (const poolIds of served) this.#served.set(keyOf(poolIds), { poolIds, atMs: nowMs });
    for (const known of [this.#waits, this.#served]) forget(known, nowMs);
  }

  #wait(poolIds: ReadonlySet<string>, nowMs: number): void {
    const key = keyOf(poolIds);
    const sinceMs = this.#waits.get(key)?.atMs;
    if (sinceMs === undefined || nowMs - sinceMs >= NEXT_WAIT_MS)
      this.#waits.set(key, { poolIds, atMs: nowMs });
  }

  /** A command of these pools has begun: their next command may wait again. */
  begin({ pools = [] }: Pick<MoveRecord, "pools">): void {
    for (const [key, { poolIds }] of this.#waits)
      if (pools.some((id) => poolIds.has(id))) this.#waits.delete(key);
  }
}

function keyOf(poolIds: ReadonlySet<string>): string {
  return JSON.stringify([...poolIds].sort());
}

function forget(turns: Map<string, Turn>, nowMs: number): void {
  for (const [key, { atMs }] of turns) if (nowMs - atMs >= KEPT_MS) turns.delete(key);
}
