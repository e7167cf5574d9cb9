/** Karpenter's last log lines in memory, so that `kubectl logs` can show and follow them. */
import type { Clock } from "../../base/clock.ts";
import {
  ContainerLog,
  type LogFollower,
  type LogLine,
  type LogSource,
} from "../../sandbox/log-lines.ts";

/** Number of lines that are kept. */
const LINES_KEPT = 10_000;

/** The last lines of Karpenter's log, for `kubectl logs`. */
export class LogBuffer implements LogSource {
  readonly #podKey: string;
  readonly #clock: Pick<Clock, "now">;
  readonly #log = new ContainerLog(LINES_KEPT);

  /** `podKey` is `namespace/name` of a pod with one container. */
  constructor(podKey: string, clock: Pick<Clock, "now">) {
    this.#podKey = podKey;
    this.#clock = clock;
  }

  append(text: string): void {
    this.#log.append({ atMs: this.#clock.now(), text });
  }

  lines(podKey: string, _container = "", previous = false): readonly LogLine[] | undefined {
    if (podKey !== this.#podKey) return undefined;
    return previous ? this.#log.previous : [...this.#log.lines];
  }

  follow(podKey: string, _container: string, follower: LogFollower): () => void {
    return podKey === this.#podKey ? this.#log.follow(follower) : () => undefined;
  }
}
