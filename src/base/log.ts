/** The interface of the log: structured lines. The implementation decides their format. */

/** The levels of zap, which upstream uses. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Values beside the message. Field names are upstream's: `NodeClaim`, `NodePool`, `Pod`, `provider-id`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured log lines. `with` makes a child that adds its fields to every line. */
export interface Logger {
  /** For details, and for why nothing changed. */
  debug(message: string, fields?: LogFields): void;
  /** For each change in the cluster or the cloud. */
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A child that adds `fields` to each line. `named` appends to the dotted name of the logger. */
  with(fields: LogFields): Logger;
  named(name: string): Logger;
}

/** Writes nothing; for tests and simulations. */
export const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => SILENT,
  named: () => SILENT,
};
