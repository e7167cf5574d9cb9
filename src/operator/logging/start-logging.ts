/**
 * Sets the form of log lines at the start, from the ConfigMap config-logging of an older installation. Without the
 * ConfigMap, lines are JSON as in v1. logging-config.ts follows later changes of the level.
 */
import { CONFIG_MAP } from "../../apis/core/kinds.ts";
import type { KubeClient, ObjectRef } from "../../kube/client/client.ts";
import { ConnectionError, KubeError } from "../../kube/errors.ts";
import type { RootLogger } from "./logger.ts";
import { JSON_FORM, readZapConfig } from "./zap-config.ts";

/**
 * Sets the logger's form. If the ConfigMap cannot be read, nothing changes. If its content is invalid, the default form
 * is used.
 */
export async function startLogging(
  client: KubeClient,
  ref: ObjectRef,
  log: RootLogger,
): Promise<void> {
  let text: string | undefined;
  try {
    const { data } = await client.get(CONFIG_MAP, ref);
    text = data?.["zap-logger-config"];
  } catch (error) {
    // The ConfigMap does not exist or may not be read, or the API server does not answer. If that matters, the
    // controllers report it.
    if (!(error instanceof KubeError || error instanceof ConnectionError)) throw error;
    return;
  }
  if (text === undefined || text.trim() === "") return;
  const form = readZapConfig(text);
  log.form = form ?? JSON_FORM;
  if (form === undefined)
    log
      .named("fallback-logger")
      .warn("Failed to parse logging config - using default zap production config", {
        configmap: `${ref.namespace}/${ref.name}`,
      });
}
