/** Certain facts about objects and instances, remembered for some time so that they are not proven again. */
import type { World } from "../world.ts";

type Doors = Pick<World, "mirrors" | "clock">;

/** Elapsed times. */
interface Note {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Keys that were noted a short time ago, for each world by itself. */
export class Recent {
  readonly #keptMs: number;
  /** By key, the one that was noted longest ago first. */
  readonly #notes = new WeakMap<World["mirrors"], Map<string, Note>>();

  /** `keptMs`: how long a note counts, in milliseconds. */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  has(world: Doors, key: string): boolean {
    return this.notedForMs(world, key) !== undefined;
  }

  /** Milliseconds since the first of the notes, none of which was forgotten. Undefined: there is none. */
  notedForMs({ mirrors, clock }: Doors, key: string): number | undefined {
    const note = this.#notes.get(mirrors)?.get(key);
    const nowMs = clock.elapsedMs();
    if (note === undefined || nowMs - note.lastMs >= this.#keptMs) return undefined;
    return nowMs - note.firstMs;
  }

  note({ mirrors, clock }: Doors, key: string): void {
    const nowMs = clock.elapsedMs();
    const notes = this.#notes.get(mirrors) ?? new Map<string, Note>();
    this.#notes.set(mirrors, notes);
    for (const [known, { lastMs }] of notes) {
      if (nowMs - lastMs < this.#keptMs) break;
      notes.delete(known);
    }
    const { firstMs = nowMs } = notes.get(key) ?? {};
    notes.delete(key);
    notes.set(key, { firstMs, lastMs: nowMs });
  }
}
