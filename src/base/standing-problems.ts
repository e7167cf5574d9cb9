/**
 * Problems that last are found anew with each look. A person reads of one when it begins, when it reads otherwise
 * than before, when it has come back, and once an hour while it stays as it is.
 * upstream: operatorpkg's pretty.ChangeMonitor
 */
import type { Clock } from "./clock.ts";
import type { LogFields, Logger } from "./log.ts";

/** A problem that stays as it is is told again after so long. Milliseconds. */
const TELL_AGAIN_MS = 3_600_000;

export class StandingProblems {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, "elapsedMs">;
  /** By key: as last told, and when. */
  readonly #told = new Map<string, { readonly text: string; readonly atMs: number }>();

  constructor(log: Logger, clock: Pick<Clock, "elapsedMs">) {
    this.#log = log;
    this.#clock = clock;
  }

  /** `key`: what has the problem. True when it was told: an error in the log. */
  tell(key: string, message: string, fields: LogFields): boolean {
    const isNews = this.isNews(key, JSON.stringify([message, fields]));
    if (isNews) this.#log.error(message, fields);
    return isNews;
  }

  /** Whether `text` is to be told of `key` now; it then counts as told. */
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

  /** Whatever had one and is no longer there has none: nothing is kept of it. */
  keep(isThere: (key: string) => boolean): void {
    for (const key of this.#told.keys()) if (!isThere(key)) this.#told.delete(key);
  }
}
