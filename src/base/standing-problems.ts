/**
 * Limits how often a lasting problem is logged, although each check finds it again. It is logged when it begins, when
 * its text changes, when it returns, and once an hour while its text stays the same.
 * upstream: operatorpkg's pretty.ChangeMonitor
 */
import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./log.ts";

/** Milliseconds after which an unchanged problem is logged again. */
const TELL_AGAIN_MS = 3_600_000;

/** Logs a problem when it begins or changes, and once an hour while it lasts. */
export class StandingProblems {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, "elapsedMs">;
  /** The last logged text of each key, and when it was logged. */
  readonly #told = new Map<string, { readonly text: string; readonly atMs: number }>();

  constructor(log: Logger, clock: Pick<Clock, "elapsedMs">) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Logs the problem of the object `key` if it must be logged now. Returns whether it was logged. */
  tell(key: string, message: string, fields: LogFields): boolean {
    const isNews = this.isNews(key, JSON.stringify([message, fields]));
    if (isNews) this.#log.error(message, fields);
    return isNews;
  }

  /** Whether `text` must be reported for `key` now. If so, it counts as reported. */
  isNews(key: string, text: string): boolean {
    const nowMs = this.#clock.elapsedMs();
    const last = this.#told.get(key);
    if (last?.text === text && nowMs - last.atMs < TELL_AGAIN_MS) return false;
    this.#told.set(key, { text, atMs: nowMs });
    return true;
  }

  over(key: string): void {
    this.#told.delete(key);
  }

  /** Drops the problems of keys that do not exist any more. */
  keep(isThere: (key: string) => boolean): void {
    for (const key of this.#told.keys()) if (!isThere(key)) this.#told.delete(key);
  }
}
