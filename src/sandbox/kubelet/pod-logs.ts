/** The logs of simulated containers: a few lines each, for `kubectl logs`. */
import { ContainerLog, type LogFollower, type LogLine, type LogSource } from "../log-lines.ts";

const LINES_PER_CONTAINER = 100;
const PODS_KEPT = 20_000;

/** Log lines of all pods, for `kubectl logs`. */
export class PodLogs implements LogSource {
  /** Keyed by pod (`namespace/name`), then container. */
  readonly #byPod = new Map<string, Map<string, ContainerLog>>();

  append(podKey: string, container: string, line: LogLine): void {
    this.#logOf(podKey, container).append(line);
  }

  /** Call when a new instance of the container starts. The lines of the last instance become its previous log. */
  startAgain(podKey: string, container: string): void {
    this.#logOf(podKey, container).startAgain();
  }

  /** Call when the pod's containers have ended. */
  end(podKey: string): void {
    for (const log of this.#byPod.get(podKey)?.values() ?? []) log.end();
  }

  lines(podKey: string, container: string, previous = false): readonly LogLine[] | undefined {
    const log = this.#byPod.get(podKey)?.get(container);
    return previous ? log?.previous : log?.lines;
  }

  follow(podKey: string, container: string, follower: LogFollower): () => void {
    return this.#logOf(podKey, container).follow(follower);
  }

  forget(podKey: string): void {
    this.end(podKey);
    this.#byPod.delete(podKey);
  }

  #logOf(podKey: string, container: string): ContainerLog {
    let logs = this.#byPod.get(podKey);
    if (logs === undefined) {
      logs = new Map();
      this.#byPod.set(podKey, logs);
      if (this.#byPod.size > PODS_KEPT) this.forget(this.#byPod.keys().next().value as string);
    }
    let log = logs.get(container);
    if (log === undefined) {
      log = new ContainerLog(LINES_PER_CONTAINER);
      logs.set(container, log);
    }
    return log;
  }
}
