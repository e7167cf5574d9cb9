/** Certain facts about objects and instances, remembered for some time so that they are not proven again. */
import type { World } from "../world.ts";

type Doors = Pick<World, "mirrors" | "clock">;

/** Keys that were noted a short time ago, for each world by itself. */
export class Recent {
  readonly #keptMs: number;
  /** Elapsed time of the last note, by key, the oldest first. */
  readonly #notes = new WeakMap<World["mirrors"], Map<string, number>>();

  /** `keptMs`: how long a note counts, in milliseconds. */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  has({ mirrors, clock }: Doors, key: string): boolean {
    const atMs = this.#notes.get(mirrors)?.get(key);
    return atMs !== undefined && clock.elapsedMs() - atMs < this.#keptMs;
  }

  note({ mirrors, clock }: Doors, key: string): void {
    const nowMs = clock.elapsedMs();
    const notes = this.#notes.get(mirrors) ?? new Map<string, number>();
    this.#notes.set(mirrors, notes);
    for (const [known, atMs] of notes) {
      if (nowMs - atMs < this.#keptMs) break;
      notes.delete(known);
    }
    notes.delete(key);
    notes.set(key, nowMs);
  }
}
