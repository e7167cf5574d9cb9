/** The interface of the log: lines with a message and fields. The implementation decides their format. */

/** The log levels, which are those of zap, upstream's logger. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Values besides the message. Field names are upstream's: `NodeClaim`, `NodePool`, `Pod`, `provider-id`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes log lines with a message and fields. */
export interface Logger {
  /** Logs details, and why nothing changed. */
  debug(message: string, fields?: LogFields): void;
  /** Logs a change in the cluster or the cloud. */
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds `fields` to each line. `named` appends to the dotted name of the logger. */
  with(fields: LogFields): Logger;
  named(name: string): Logger;
}

/** A logger that writes nothing; for tests and simulations. */
export const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => SILENT,
  named: () => SILENT,
};
