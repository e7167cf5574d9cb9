/**
 * Remembers when each group of pools (repack/groups.ts) got its last command, and since when its command waits for more
 * quiet nodes. A node is quiet if no pod was added or removed lately. So groups are served in turn, and none waits
 * without end. After a restart, every group starts again.
 */
import type { MoveRecord } from "./moves.ts";

/** How long the command of a group may be deferred because more nodes of the group will soon be quiet. */
const LONGEST_WAIT_MS = 30_000;
/** The least time between two waits of a group, for clusters in which pods are added and removed all the time. */
const NEXT_WAIT_MS = 5 * 60_000;
/** Entries are dropped after this time, so that deleted pools leave none behind. */
const KEPT_MS = 60 * 60_000;

/** The groups of pools (by id) for which a method proposed a command, now or later. */
export interface PoolTurns {
  readonly served: readonly ReadonlySet<string>[];
  /** Groups whose command waits for more quiet nodes. */
  readonly awaited: readonly ReadonlySet<string>[];
}

interface Turn {
  readonly poolIds: ReadonlySet<string>;
  readonly atMs: number;
}

export class RepackTurns {
  readonly #waits = new Map<string, Turn>();
  readonly #served = new Map<string, Turn>();

  /** How many milliseconds the next command of these pools may still be deferred. 0: it must begin now. */
  waitLeftMs(poolIds: ReadonlySet<string>, nowMs: number): number {
    const sinceMs = this.#waits.get(keyOf(poolIds))?.atMs;
    if (sinceMs === undefined || nowMs - sinceMs >= NEXT_WAIT_MS) return LONGEST_WAIT_MS;
    return Math.max(0, sinceMs + LONGEST_WAIT_MS - nowMs);
  }

  /** When this group last got a command, in epoch milliseconds. 0: never. */
  lastMs(poolIds: ReadonlySet<string>): number {
    return this.#served.get(keyOf(poolIds))?.atMs ?? 0;
  }

  /** Records which groups got a command, and which wait for quiet nodes. */
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

  /** Records that a command of these pools has begun. So the next command of their groups may be deferred again. */
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
