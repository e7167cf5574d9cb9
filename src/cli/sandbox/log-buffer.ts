/** Karpenter's own log lines in memory, so that `kubectl logs` of its pod shows them, followed or not. */
import type { LogSource } from "../../sandbox/apiserver/api-server.ts";

/** As many as anybody scrolls back; the oldest go first. */
const LINES_KEPT = 10_000;

export class LogBuffer implements LogSource {
  readonly #podKey: string;
  readonly #lines: string[] = [];
  readonly #followers = new Set<(line: string) => void>();

  constructor(podKey: string) {
    this.#podKey = podKey;
  }

  append(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > LINES_KEPT) this.#lines.splice(0, LINES_KEPT / 10);
    for (const follower of this.#followers) follower(line);
  }

  lines(podKey: string): readonly string[] | undefined {
    return podKey === this.#podKey ? [...this.#lines] : undefined;
  }

  follow(podKey: string, onLine: (line: string) => void): () => void {
    if (podKey !== this.#podKey) return () => undefined;
    this.#followers.add(onLine);
    return () => this.#followers.delete(onLine);
  }
}
