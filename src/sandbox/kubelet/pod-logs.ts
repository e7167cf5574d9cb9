/** What simulated containers print: a few lines a pod, for `kubectl logs`. Bounded in size. */
import type { LogSource } from "../apiserver/api-server.ts";

const LINES_PER_POD = 100;
const PODS_KEPT = 20_000;

export class PodLogs implements LogSource {
  readonly #byPod = new Map<string, string[]>();
  readonly #followers = new Map<string, Set<(line: string) => void>>();

  /** `podKey` is `namespace/name`. */
  append(podKey: string, line: string): void {
    let lines = this.#byPod.get(podKey);
    if (lines === undefined) {
      lines = [];
      this.#byPod.set(podKey, lines);
      if (this.#byPod.size > PODS_KEPT) {
        this.#byPod.delete(this.#byPod.keys().next().value as string);
      }
    }
    lines.push(line);
    if (lines.length > LINES_PER_POD) lines.shift();
    for (const onLine of this.#followers.get(podKey) ?? []) onLine(line);
  }

  lines(podKey: string): readonly string[] | undefined {
    return this.#byPod.get(podKey);
  }

  follow(podKey: string, onLine: (line: string) => void): () => void {
    const followers = this.#followers.get(podKey) ?? new Set();
    this.#followers.set(podKey, followers.add(onLine));
    return () => {
      followers.delete(onLine);
      if (followers.size === 0) this.#followers.delete(podKey);
    };
  }

  forget(podKey: string): void {
    this.#byPod.delete(podKey);
  }
}
