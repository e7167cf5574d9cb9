/**
 * Problems that last are found anew with each look. A person reads of one when it begins, when it reads
 * otherwise than before and when it has come back; while it stays as it is, its lines are at debug.
 * upstream: operatorpkg's pretty.ChangeMonitor
 */
import type { LogFields, Logger } from "./log.ts";

export class StandingProblems {
  readonly #log: Logger;
  /** By key, as last told. */
  readonly #told = new Map<string, string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** `key`: what has the problem. */
  tell(key: string, message: string, fields: LogFields): void {
    const text = JSON.stringify([message, fields]);
    if (this.#told.get(key) === text) this.#log.debug(message, fields);
    else this.#log.error(message, fields);
    this.#told.set(key, text);
  }

  over(key: string): void {
    this.#told.delete(key);
  }

  /** Whatever had one and is no longer there has none: nothing is kept of it. */
  keep(isThere: (key: string) => boolean): void {
    for (const key of this.#told.keys()) if (!isThere(key)) this.#told.delete(key);
  }
}
