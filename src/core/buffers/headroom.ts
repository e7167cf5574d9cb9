/** The placeholder pods of all CapacityBuffers, as they were last computed. */
import type { Pod } from "../../apis/core/pod.ts";

export class Headroom {
  readonly #byBuffer = new Map<string, readonly Pod[]>();
  #all: readonly Pod[] | undefined;

  /** The placeholder pods of all buffers, sorted by the buffers' keys. It is the same list until a buffer changes. */
  get pods(): readonly Pod[] {
    this.#all ??= [...this.#byBuffer.keys()].sort().flatMap((key) => this.of(key));
    return this.#all;
  }

  /** The placeholder pods of the buffer `namespace/name`. */
  of(key: string): readonly Pod[] {
    return this.#byBuffer.get(key) ?? NOBODY;
  }

  /**
   * Replaces the placeholder pods of one buffer. Pass none if the buffer was deleted. Returns the pods that were
   * removed.
   */
  set(key: string, pods: readonly Pod[]): readonly Pod[] {
    const before = this.of(key);
    if (before === pods) return NOBODY;
    if (pods.length === 0) this.#byBuffer.delete(key);
    else this.#byBuffer.set(key, pods);
    this.#all = undefined;
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    return before.filter(({ metadata }) => !uids.has(metadata.uid));
  }
}

const NOBODY: readonly Pod[] = [];
