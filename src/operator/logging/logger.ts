/**
 * The implementation of the log. JSON lines have upstream's keys in its order: level, time, logger, message, commit,
 * keys of the reconcile, fields. Installations of v1alpha5 have tab-separated lines. The time is that of the given
 * clock, so a simulation logs simulated time.
 */
import { pino } from "pino";
import type { Clock } from "../../base/clock.ts";
import type { LogFields, Logger, LogLevel } from "../../base/log.ts";
import { printable } from "../../base/printable.ts";
import { reconcileContext } from "./reconcile-scope.ts";
import { JSON_FORM, type LogForm } from "./zap-config.ts";

const RANK: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** The options of the log. An empty level means info. */
export interface LoggerOptions {
  readonly clock: Clock;
  readonly write: (line: string) => void;
  readonly level: "" | "debug" | "info" | "error";
  readonly encoding: "json" | "console";
  /** Seven hexadecimal digits of the build's commit, as upstream prints it. */
  readonly commit: string;
}

/** The logger of the process, from which all others are derived. `level`: applies to all of them and can be changed. */
export interface RootLogger extends Logger {
  level: LogLevel;
  /** The level of the component `webhook`. Undefined: `level` applies. */
  webhookLevel: LogLevel | undefined;
  /** The logger of the component `webhook`. */
  readonly webhook: Logger;
  /** The form of lines from now on. */
  form: LogForm;
}

/** Creates the logger. Its lines have the form of zap, as in upstream. */
export function createLogger(options: LoggerOptions): RootLogger {
  const held: { level: LogLevel; webhookLevel: LogLevel | undefined; form: LogForm } = {
    level: options.level === "" ? "info" : options.level,
    webhookLevel: undefined,
    form: { ...JSON_FORM, encoding: options.encoding },
  };
  let emit = emitter(options, held.form);
  const at = (component: () => LogLevel): Emit => {
    return (level, logger, message, fields) => {
      if (RANK[level] >= RANK[component()]) emit(level, logger, message, fields);
    };
  };
  return {
    ...loggerOf(
      "controller",
      {},
      at(() => held.level),
    ),
    webhook: loggerOf(
      "webhook",
      {},
      at(() => held.webhookLevel ?? held.level),
    ),
    get level() {
      return held.level;
    },
    set level(level) {
      held.level = level;
    },
    get webhookLevel() {
      return held.webhookLevel;
    },
    set webhookLevel(level) {
      held.webhookLevel = level;
    },
    get form() {
      return held.form;
    },
    set form(form) {
      held.form = form;
      emit = emitter(options, form);
    },
  };
}

function emitter(options: LoggerOptions, form: LogForm): Emit {
  const emit = form.encoding === "json" ? jsonEmitter(options, form) : consoleEmitter(options);
  return form.sampling === undefined ? emit : sampled(emit, form.sampling, options.clock);
}

/**
 * Writes the first `initial` of equal lines in one second, and then every `thereafter`-th. upstream: zapcore's sampler
 */
function sampled(
  emit: Emit,
  { initial, thereafter }: { readonly initial: number; readonly thereafter: number },
  clock: Clock,
): Emit {
  let second = 0;
  const counts = new Map<string, number>();
  return (level, logger, message, fields) => {
    const now = Math.floor(clock.now() / 1_000);
    if (now !== second) counts.clear();
    second = now;
    const key = `${level}/${message}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count > initial && (count - initial) % thereafter !== 0) return;
    emit(level, logger, message, fields);
  };
}

/** Whether the level `level` shows fewer lines than the level `than`. */
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

function jsonEmitter({ clock, write, commit }: LoggerOptions, form: LogForm): Emit {
  const { keys } = form;
  const log = pino(
    {
      level: "debug",
      base: null,
      messageKey: keys.message,
      timestamp: () => `,"${keys.time}":${timeOf(clock, form)}`,
      formatters: {
        level: (label) => ({
          [keys.level]: form.levelCase === "upper" ? label.toUpperCase() : label,
        }),
      },
    },
    // JSON does not escape all control characters. After escaping, the text still means the same.
    { write: (line: string) => write(printable(line.trimEnd())) },
  );
  return (level, logger, message, fields) =>
    log[level]({
      [keys.logger]: logger,
      [keys.message]: message,
      commit,
      ...withReconcile(fields),
      // The message is set again, because a field with the same key would replace it.
      [keys.message]: message,
    });
}

/** Puts the fields of the reconcile first. A line with the name of another controller does not get them. */
function withReconcile(fields: LogFields): LogFields {
  const context = reconcileContext();
  const { controller } = fields;
  if (context === undefined) return fields;
  if (controller !== undefined && controller !== context.controller) return fields;
  return { ...context, ...fields };
}

function timeOf(clock: Clock, { time }: LogForm): string {
  if (time === "iso8601") return `"${isoOf(clock)}"`;
  return String(time === "millis" ? clock.now() : clock.now() / 1_000);
}

/**
 * Writes lines in the console format. The API versions that had it put the controller's name into the logger's name,
 * not into a field.
 */
function consoleEmitter({ clock, write, commit }: LoggerOptions): Emit {
  return (level, logger, message, { controller, ...fields }) => {
    const name = typeof controller === "string" ? `${logger}.${controller}` : logger;
    const tail = consoleJson({ commit, ...fields });
    const parts = [isoOf(clock), level.toUpperCase(), name, message, tail];
    write(parts.map(printable).join("\t"));
  };
}

/** The fields in zap's console format: a space after each colon and comma of the outermost object, none inside. */
function consoleJson(fields: LogFields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `{${parts.join(", ")}}`;
}

function isoOf(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
