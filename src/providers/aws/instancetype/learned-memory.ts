/**
 * How much memory nodes really have. The hypervisor's share is only estimated until the first node of a type and image
 * has joined. From then on the least memory that such a node reported counts, so that the planner does not overfill
 * nodes.
 * upstream: pkg/providers/instancetype (discovered capacity)
 */
import type { Clock } from "../../../base/clock.ts";

const KEPT_MS = 60 * 24 * 3_600_000;

interface Learned {
  readonly bytes: number;
  readonly untilMs: number;
}

/** The memory of nodes by type and image, as nodes reported it. */
export class LearnedMemory {
  readonly #clock: Clock;
  /** Memory by `type/image`. */
  readonly #learned = new Map<string, Learned>();
  #nextEndMs = Number.POSITIVE_INFINITY;
  #version = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Grows with each change, also when an entry expires. Part of cache keys. */
  get version(): number {
    this.#forgetOld();
    return this.#version;
  }

  of(type: string, imageId: string): number | undefined {
    return this.#learned.get(`${type}/${imageId}`)?.bytes;
  }

  /**
   * Notes that a node of this type and image reported `bytes`. `promisedBytes`: the memory that its claim promised. A
   * first node with exactly this amount is ignored. Returns whether the learned value changed.
   */
  learn(type: string, imageId: string, bytes: number, promisedBytes: number): boolean {
    const key = `${type}/${imageId}`;
    const known = this.#learned.get(key)?.bytes;
    if (known === undefined ? bytes === promisedBytes : bytes > known) return false;
    const untilMs = this.#clock.elapsedMs() + KEPT_MS;
    this.#learned.set(key, { bytes, untilMs });
    this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
    if (bytes === known) return false;
    this.#version++;
    return true;
  }

  #forgetOld(): void {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const [key, { untilMs }] of this.#learned) {
      if (untilMs > nowMs) this.#nextEndMs = Math.min(this.#nextEndMs, untilMs);
      else {
        this.#learned.delete(key);
        this.#version++;
      }
    }
  }
}
