/**
 * Reads `zap-logger-config` of ConfigMap config-logging: the form of log lines in v0.16 to v0.32. It is read at the
 * start; later only levels change (logging-config.ts). For an invalid document the default form is used, with a
 * warning.
 * upstream: knative.dev/pkg/logging, go.uber.org/zap Config
 */
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { asText, isObject } from "../../base/json.ts";

/** The form of log lines. Keys that are left empty have their usual names. */
export interface LogForm {
  readonly encoding: "json" | "console";
  readonly keys: {
    readonly time: string;
    readonly level: string;
    readonly logger: string;
    readonly message: string;
  };
  readonly levelCase: "upper" | "lower";
  readonly time: "iso8601" | "millis" | "epoch";
  /**
   * Of equal lines in one second, the first `initial` are written, then every `thereafter`-th. Absent: all are written.
   */
  readonly sampling?: { readonly initial: number; readonly thereafter: number };
}

/** The default form: one JSON object for each line. */
export const JSON_FORM: LogForm = {
  encoding: "json",
  keys: { time: "time", level: "level", logger: "logger", message: "message" },
  levelCase: "upper",
  time: "iso8601",
};

/** The form that the document describes. Undefined: it is not a zap configuration. */
export function readZapConfig(text: string): LogForm | undefined {
  let config: unknown;
  try {
    config = parseBoundedJson(text);
  } catch {
    return undefined;
  }
  if (!isObject(config)) return undefined;
  const { encoding = "json", encoderConfig = {}, sampling, development, level } = config;
  const flags = [development, config["disableStacktrace"], config["disableCaller"]];
  const isSound =
    (encoding === "json" || encoding === "console") &&
    isObject(encoderConfig) &&
    (level === undefined || typeof level === "string") &&
    // In zap these flags must be booleans. A document with `"true"` in quotes is invalid.
    flags.every((flag) => flag === undefined || typeof flag === "boolean");
  if (!isSound) return undefined;
  const key = (name: string, fallback: string): string => {
    const given = encoderConfig[name];
    return typeof given === "string" && given !== "" ? given : fallback;
  };
  const times = encoderConfig["timeEncoder"];
  return {
    encoding,
    keys: {
      time: key("timeKey", "time"),
      level: key("levelKey", "level"),
      logger: key("nameKey", "logger"),
      message: key("messageKey", "message"),
    },
    levelCase: asText(encoderConfig["levelEncoder"] ?? "capital").startsWith("capital")
      ? "upper"
      : "lower",
    time: times === "millis" || times === "epoch" ? times : "iso8601",
    ...(isObject(sampling) ? { sampling: samplingOf(sampling) } : {}),
  };
}

function samplingOf(given: Readonly<Record<string, unknown>>) {
  const count = (value: unknown): number =>
    typeof value === "number" && value > 0 ? Math.trunc(value) : 100;
  return { initial: count(given["initial"]), thereafter: count(given["thereafter"]) };
}
