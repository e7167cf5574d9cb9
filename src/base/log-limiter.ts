/**
 * Log lines that others can cause are written at a bounded rate. Of each kind the first lines of a minute are written
 * and the rest are counted; one line at the end of the minute tells how many there were. 2,000 bad requests then
 * write kilobytes and not megabytes.
 */
import type { Clock, Timer } from "./clock.ts";
import type { LogFields, Logger, LogLevel } from "./log.ts";

const WINDOW_MS = 60_000;

/** Counts of the lines of one kind in the minute that began at `startedMs`. */
interface Window {
  readonly startedMs: number;
  written: number;
  /** Lines that were not written. */
  held: number;
  /** Runs when lines are held; writes how many. */
  timer: Timer | undefined;
  level: LogLevel;
  message: string;
}

/** Logs at most so many lines a minute for each key, then one line that counts the rest. */
export class LogLimiter {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, "elapsedMs" | "after">;
  readonly #perMinute: number;
  readonly #windows = new Map<string, Window>();

  /** `perMinute`: lines of one kind that are written in a minute. Default 5. */
  constructor(log: Logger, clock: Pick<Clock, "elapsedMs" | "after">, perMinute = 5) {
    this.#log = log;
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** `kind` is one of a few fixed texts: each kind takes memory. Nothing of a request may be in it. */
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

  /** Logs the counts of lines that were held back, and stops the timers. */
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
