/** The log door: structured lines. What a line looks like is decided where the door is made. */

/** Levels of zap, as upstream's logs have them. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Values apart from the text. Names are upstream's: `NodeClaim`, `NodePool`, `Pod`, `provider-id`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured log lines. `with` makes a child that adds its fields to every line. */
export interface Logger {
  /** Why nothing changed, and details. */
  debug(message: string, fields?: LogFields): void;
  /** Something changed in the world. */
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A child that adds `fields` to each line. `logger` appends to the dotted logger name. */
  with(fields: LogFields): Logger;
  named(name: string): Logger;
}

/** Says nothing: for tests and simulations of decisions. */
export const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => SILENT,
  named: () => SILENT,
};
