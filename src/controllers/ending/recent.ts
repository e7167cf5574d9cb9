/** Remembers keys of objects and instances for some time, so that they are not checked again. */
import type { World } from "../world.ts";

type WorldPart = Pick<World, "mirrors" | "clock">;

/** When a key was first and last noted, by the monotonic clock. */
interface Note {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Keys that were noted a short time ago. Each world has its own keys. */
export class Recent {
  readonly #keptMs: number;
  /** Notes by key, in the order of their last note, oldest first. */
  readonly #notes = new WeakMap<World["mirrors"], Map<string, Note>>();

  /** `keptMs`: milliseconds for which a note is kept. */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  has(world: WorldPart, key: string): boolean {
    return this.notedForMs(world, key) !== undefined;
  }

  /**
   * Milliseconds since the key was first noted, if no pause between its notes was longer than `keptMs`. Undefined:
   * there is no note.
   */
  notedForMs({ mirrors, clock }: WorldPart, key: string): number | undefined {
    const note = this.#notes.get(mirrors)?.get(key);
    const nowMs = clock.elapsedMs();
    if (note === undefined || nowMs - note.lastMs >= this.#keptMs) return undefined;
    return nowMs - note.firstMs;
  }

  note({ mirrors, clock }: WorldPart, key: string): void {
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
