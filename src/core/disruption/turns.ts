/**
 * Whose turn it is among groups of pools that have nothing to do with each other (repack/groups.ts), and how long
 * each has been waited for: nobody is passed over for ever, and nobody waits for ever. Not written down: after a
 * restart each has its turn, and may be waited for, anew.
 */
import type { Ruling } from "./arbiter.ts";
import type { Move } from "./moves.ts";

/** From the first time that a group could be packed anew but waits for nodes that could go along in a moment. */
const LONGEST_WAIT_MS = 30_000;
/** What came of that wait may never begin, where events do not end: only then is there another one. */
const NEXT_WAIT_MS = 5 * 60_000;
/** Of pools that are gone. */
const KEPT_MS = 60 * 60_000;

interface Turn {
  readonly poolIds: ReadonlySet<string>;
  readonly atMs: number;
}

export class Turns {
  readonly #waits = new Map<string, Turn>();
  readonly #proposed = new Map<string, Turn>();

  /** For how long these pools may still be waited for. */
  patienceMs(poolIds: ReadonlySet<string>, nowMs: number): number {
    const sinceMs = this.#waits.get(keyOf(poolIds))?.atMs;
    if (sinceMs === undefined || nowMs - sinceMs >= NEXT_WAIT_MS) return LONGEST_WAIT_MS;
    return Math.max(0, sinceMs + LONGEST_WAIT_MS - nowMs);
  }

  /** When a command of theirs was proposed last; 0: it never was. */
  lastMs(poolIds: ReadonlySet<string>): number {
    return this.#proposed.get(keyOf(poolIds))?.atMs ?? 0;
  }

  /** Remembers which groups had their turn, and which wait. */
  note({ served, awaited }: Pick<Ruling, "served" | "awaited">, nowMs: number): void {
    for (const poolIds of awaited) this.#wait(poolIds, nowMs);
    for (const poolIds of served) this.#proposed.set(keyOf(poolIds), { poolIds, atMs: nowMs });
    for (const known of [this.#waits, this.#proposed]) forget(known, nowMs);
  }

  #wait(poolIds: ReadonlySet<string>, nowMs: number): void {
    const key = keyOf(poolIds);
    const sinceMs = this.#waits.get(key)?.atMs;
    if (sinceMs === undefined || nowMs - sinceMs >= NEXT_WAIT_MS)
      this.#waits.set(key, { poolIds, atMs: nowMs });
  }

  /** What was waited for has begun: what comes next may be waited for, too. */
  begin({ pools = [] }: Pick<Move, "pools">): void {
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
