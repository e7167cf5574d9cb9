/**
 * Follows the ConfigMap config-logging (or that of --config-logging-name), with which older generations change the log
 * level at run time. The level is `loglevel.controller`, or else `level` of `zap-logger-config`, or else the level from
 * the start. `loglevel.webhook` is for the webhooks. Entries without effect are logged once.
 * upstream: knative.dev/pkg/logging, by way of pkg/operator at v0.31
 */

import { CONFIG_MAP, type ConfigMap } from "../../apis/core/kinds.ts";
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { fieldOf } from "../../base/json.ts";
import type { LogLevel } from "../../base/log.ts";
import { AWAIT_CHANGE, type Controller, source } from "../../kube/manager/controller.ts";
import type { Mirrors } from "../../kube/mirror/mirror.ts";
import { isStricter, type RootLogger } from "./logger.ts";

/** Name of the ConfigMap, unless `--config-logging-name` names another. */
export const LOGGING_CONFIG = "config-logging";

const COMPONENT = "controller";

const LEVELS: Readonly<Record<string, LogLevel>> = {
  debug: "debug",
  info: "info",
  warn: "warn",
  error: "error",
  dpanic: "error",
  panic: "error",
  fatal: "error",
};

/** The other keys of `zap-logger-config`: the form of lines, which zap-config.ts has read at the start. */
const AT_START: ReadonlySet<string> = new Set([
  "development",
  "disableStacktrace",
  "disableCaller",
  "sampling",
  "encoding",
  "encoderConfig",
]);

/** What the controller needs to follow the ConfigMap. */
export interface LoggingConfigDeps {
  readonly mirrors: Mirrors;
  readonly log: RootLogger;
  readonly namespace: string;
  /** Name of the ConfigMap. */
  readonly name: string;
}

/** Applies changes of the ConfigMap while the controller runs. */
export function loggingConfig({ mirrors, log, namespace, name }: LoggingConfigDeps): Controller {
  const configMaps = mirrors.of(CONFIG_MAP, {
    namespace,
    fieldSelector: `metadata.name=${name}`,
    optional: true,
  });
  const started = log.level;
  const said = new Set<string>();

  const warn = (message: string, fields: Readonly<Record<string, unknown>>): void => {
    const key = `${message}/${JSON.stringify(fields)}`;
    if (!said.has(key)) log.warn(message, { configmap: `${namespace}/${name}`, ...fields });
    said.add(key);
  };

  function wanted(data: Readonly<Record<string, string>>): LogLevel {
    const { level: general, ...others } = documentOf(data["zap-logger-config"], warn);
    const unused = [
      ...Object.keys(others).filter((key) => !AT_START.has(key)),
      ...Object.keys(data).filter((key) => /^loglevel\.(?!(controller|webhook)$)/.test(key)),
    ];
    if (unused.length > 0) warn("logging settings are accepted but not acted on", { unused });
    for (const value of [data[`loglevel.${COMPONENT}`], general]) {
      if (value === undefined) continue;
      const level = fieldOf(LEVELS, String(value));
      if (level !== undefined) return level;
      const levels = Object.keys(LEVELS).join(", ");
      warn(`ignoring an unknown log level; use one of ${levels}`, { level: value });
    }
    return started;
  }

  /** Sets the level of the webhooks. `text` undefined: they have the controller's level. */
  function followWebhook(text: string | undefined): void {
    const level = text === undefined ? undefined : fieldOf(LEVELS, text);
    if (level === log.webhookLevel) return;
    const before = log.webhookLevel ?? log.level;
    log.webhookLevel = level;
    log.info(`Updating logging level for webhook from ${before} to ${level ?? log.level}.`);
  }

  return {
    name: "logging.config",
    watches: [source(CONFIG_MAP)],
    concurrency: 1,
    reconcile: async (request) => {
      if (request.namespace !== namespace || request.name !== name) return AWAIT_CHANGE;
      const held: ConfigMap | undefined = configMaps.get(`${namespace}/${name}`);
      followWebhook(held?.data?.["loglevel.webhook"]);
      const level = held === undefined ? started : wanted(held.data ?? {});
      const before = log.level;
      if (level === before) return AWAIT_CHANGE;
      const message = `Updating logging level for ${COMPONENT} from ${before} to ${level}.`;
      // The line is logged before the level becomes stricter, or after it becomes less strict, so that it is visible.
      if (isStricter(level, before)) log.info(message);
      log.level = level;
      if (!isStricter(level, before)) log.info(message);
      return AWAIT_CHANGE;
    },
  };
}

function documentOf(
  text: string | undefined,
  warn: (message: string, fields: Readonly<Record<string, unknown>>) => void,
): Readonly<Record<string, unknown>> {
  if (text === undefined || text.trim() === "") return {};
  try {
    const parsed: unknown = parseBoundedJson(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) {
      return parsed as Readonly<Record<string, unknown>>;
    }
    warn("ignoring zap-logger-config, which is no JSON object", {
      error: `it is ${typeof parsed}`,
    });
  } catch (error) {
    warn("ignoring zap-logger-config, which is no JSON", { error: String(error) });
  }
  return {};
}
