/**
 * The log door's real side: JSON lines with upstream's keys (level, time, logger, message, commit,
 * then fields), or the tab-separated console form that the alpha generation printed. Time comes from
 * the world's clock, so a simulated run logs simulated time.
 */
import { pino } from "pino";
import type { Clock } from "../base/clock.ts";
import type { LogFields, Logger, LogLevel } from "../base/log.ts";

const RANK: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

export interface LoggerOptions {
  readonly clock: Clock;
  readonly write: (line: string) => void;
  readonly level: "" | "debug" | "info" | "error";
  readonly encoding: "json" | "console";
  /** Seven hexadecimal digits of the build, as upstream prints it. */
  readonly commit: string;
}

/** The logger that the others are children of. `level` is what they are all held to; it may be changed. */
export interface RootLogger extends Logger {
  level: LogLevel;
}

export function createLogger(options: LoggerOptions): RootLogger {
  const emit = options.encoding === "json" ? jsonEmitter(options) : consoleEmitter(options);
  const held = { level: options.level === "" ? "info" : options.level } as { level: LogLevel };
  const root = loggerOf("controller", {}, (level, logger, message, fields) => {
    if (RANK[level] >= RANK[held.level]) emit(level, logger, message, fields);
  });
  return {
    ...root,
    get level() {
      return held.level;
    },
    set level(level) {
      held.level = level;
    },
  };
}

/** Whether the first shows less than the second. */
export function isStricter(level: LogLevel, than: LogLevel): boolean {
  return RANK[level] > RANK[than];
}

type Emit = (level: LogLevel, logger: string, message: string, fields: LogFields) => void;

function loggerOf(name: string, bound: LogFields, emit: Emit): Logger {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) =>
    emit(level, name, message, fields === undefined ? bound : { ...bound, ...fields });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => loggerOf(name, { ...bound, ...fields }, emit),
    named: (part) => loggerOf(`${name}.${part}`, bound, emit),
  };
}

function jsonEmitter({ clock, write, commit }: LoggerOptions): Emit {
  const log = pino(
    {
      level: "debug",
      base: null,
      messageKey: "message",
      timestamp: () => `,"time":"${isoOf(clock)}"`,
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
    },
    { write: (line: string) => write(line.trimEnd()) },
  );
  return (level, logger, message, fields) => log[level]({ logger, commit, ...fields }, message);
}

/** The generations that printed this form named a controller in the logger, not in a field. */
function consoleEmitter({ clock, write, commit }: LoggerOptions): Emit {
  return (level, logger, message, { controller, ...fields }) => {
    const name = typeof controller === "string" ? `${logger}.${controller}` : logger;
    const tail = consoleJson({ commit, ...fields });
    write(`${isoOf(clock)}\t${level.toUpperCase()}\t${name}\t${message}\t${tail}`);
  };
}

/** zap's console fields: a blank after each colon and comma of the outermost object, none inside. */
function consoleJson(fields: LogFields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `{${parts.join(", ")}}`;
}

function isoOf(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
