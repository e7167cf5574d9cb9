/**
 * The log of a container: its lines with their times, and the clients that follow it. It is the source of `kubectl
 * logs`. When a container restarts, its lines become its previous log.
 */

/** One line of a container. */
export interface LogLine {
  /** Time at which the line was printed, in epoch milliseconds. */
  readonly atMs: number;
  readonly text: string;
}

/** Receives each new line, and the end of the container. */
export interface LogFollower {
  readonly line: (line: LogLine) => void;
  readonly end: () => void;
}

/** Where `kubectl logs` reads from. */
export interface LogSource {
  /** Lines so far, oldest first; `previous`: of the instance before this one. Undefined: there is no such log. */
  lines(podKey: string, container: string, previous?: boolean): readonly LogLine[] | undefined;
  /**
   * Follows new lines until the returned function is called. If the container has ended already, calls `end` at
   * once.
   */
  follow(podKey: string, container: string, follower: LogFollower): () => void;
}

/** The log of one container. */
export class ContainerLog {
  readonly #mostLines: number;
  readonly #followers = new Set<LogFollower>();
  #lines: LogLine[] = [];
  #previous: readonly LogLine[] | undefined;
  #hasEnded = false;

  /** Keeps the newest `mostLines` lines. */
  constructor(mostLines: number) {
    this.#mostLines = mostLines;
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  get previous(): readonly LogLine[] | undefined {
    return this.#previous;
  }

  append(line: LogLine): void {
    this.#lines.push(line);
    // Drops a tenth of the lines together. To drop one line for each new line would move all others each time.
    if (this.#lines.length > this.#mostLines)
      this.#lines.splice(0, Math.max(1, Math.floor(this.#mostLines / 10)));
    for (const follower of this.#followers) follower.line(line);
  }

  /** Call when the container has ended. Followers receive nothing more until it restarts. */
  end(): void {
    this.#hasEnded = true;
    for (const follower of this.#followers) follower.end();
    this.#followers.clear();
  }

  /** Call when a new instance of the container starts. */
  startAgain(): void {
    this.end();
    this.#hasEnded = false;
    this.#previous = this.#lines;
    this.#lines = [];
  }

  follow(follower: LogFollower): () => void {
    if (this.#hasEnded) {
      follower.end();
      return () => undefined;
    }
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}
