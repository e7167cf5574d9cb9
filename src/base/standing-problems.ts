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

  /** `key`: what has the problem. True when it was told, not only repeated at debug. */
  tell(key: string, message: string, fields: LogFields): boolean {
    const text = JSON.stringify([message, fields]);
    const isNew = this.#told.get(key) !== text;
    if (isNew) this.#log.error(message, fields);
    else this.#log.debug(message, fields);
    this.#told.set(key, text);
    return isNew;
  }

  over(key: string): void {
    this.#told.delete(key);
  }

  /** Whatever had one and is no longer there has none: nothing is kept of it. */
  keep(isThere: (key: string) => boolean): void {
    for (const key of this.#told.keys()) if (!isThere(key)) this.#told.delete(key);
  }
}
