/**
 * Limits log lines that clients can cause, such as one for each bad request. The first lines of a kind in a minute are
 * written. The others are counted, and one line at the end of the minute has their number.
 */
import type { Clock, Timer } from "./clock.ts";
import type { LogFields, Logger, LogLevel } from "./log.ts";

const WINDOW_MS = 60_000;

/** Counts of the lines of one kind in the minute that began at `startedMs`. */
interface Window {
  readonly startedMs: number;
  written: number;
  /** Number of lines that were not written. */
  held: number;
  /** Logs the number of unwritten lines at the end of the minute. Undefined: all were written. */
  timer: Timer | undefined;
  level: LogLevel;
  message: string;
}

/** Logs a few lines a minute of each kind, then one line with the number of the others. */
export class LogLimiter {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, "elapsedMs" | "after">;
  readonly #perMinute: number;
  readonly #windows = new Map<string, Window>();

  /** `perMinute`: how many lines of one kind are written in a minute. Absent: 5. */
  constructor(log: Logger, clock: Pick<Clock, "elapsedMs" | "after">, perMinute = 5) {
    this.#log = log;
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /**
   * Logs a line within the limit. `kind`: one of a few fixed texts, without parts of a request, because each kind takes
   * memory.
   */
  tell(level: LogLevel, kind: string, message: string, fields: LogFields = {}): void {
    const window = this.#windowOf(kind, level, message);
    if (window.written < this.#perMinute) {
      window.written++;
      this.#log[level](message, fields);
      return;
    }
    window.held++;
    const leftMs = window.startedMs + WINDOW_MS - this.#clock.elapsedMs();
    window.timer ??= this.#clock.after(leftMs, () => this.#sum(kind, window));
  }

  /** Logs the numbers of unwritten lines, and stops the timers. */
  close(): void {
    for (const [kind, window] of [...this.#windows]) {
      window.timer?.cancel();
      this.#sum(kind, window);
    }
  }

  #windowOf(kind: string, level: LogLevel, message: string): Window {
    const nowMs = this.#clock.elapsedMs();
    const current = this.#windows.get(kind);
    if (current !== undefined && nowMs - current.startedMs < WINDOW_MS) return current;
    if (current !== undefined) {
      current.timer?.cancel();
      this.#sum(kind, current);
    }
    const begun = { startedMs: nowMs, written: 0, held: 0, timer: undefined, level, message };
    this.#windows.set(kind, begun);
    return begun;
  }

  #sum(kind: string, { held, level, message }: Window): void {
    this.#windows.delete(kind);
    if (held > 0)
      this.#log[level](`${message}: and ${held} more in the last minute`, { count: held });
  }
}
