/**
 * Which group of pools (repack/groups.ts) repack and single-node consolidation serve next, and how long each group has
 * waited for quiet nodes. So each group is served some time, and none waits without end. Kept in memory only: after a
 * restart, every group starts again.
 */
import type { MoveRecord } from "./moves.ts";

/** How long a group may wait for quiet nodes, from the first time that it could be repacked. */
const LONGEST_WAIT_MS = 30_000;
/**
 * The least time between the starts of two waits of a group. The command after a wait may never begin, for example
 * because pods are added and removed all the time.
 */
const NEXT_WAIT_MS = 5 * 60_000;
/** Entries are dropped after this time. So deleted pools leave no entries behind. */
const KEPT_MS = 60 * 60_000;

/** Groups of pools (by id) to which the result of a method gives a command or a wait. */
export interface PoolTurns {
  /** Groups that got a command. */
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

  /** How much longer these pools may wait for quiet nodes. */
  waitLeftMs(poolIds: ReadonlySet<string>, nowMs: number): number {
    const sinceMs = this.#waits.get(keyOf(poolIds))?.atMs;
    if (sinceMs === undefined || nowMs - sinceMs >= NEXT_WAIT_MS) return LONGEST_WAIT_MS;
    return Math.max(0, sinceMs + LONGEST_WAIT_MS - nowMs);
  }

  /** When these pools last got a command. 0: never. */
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

  /** Called when a command of these pools has begun: their next command may wait again. */
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
