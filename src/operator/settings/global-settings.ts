/**
 * Reads the ConfigMap karpenter-global-settings, with the settings of v0.24 to v0.32. It is read once at the start. Its
 * values replace defaults; flags and environment variables replace its values. Entries without effect are logged once.
 * upstream: pkg/apis/settings of the core and of the AWS provider at v0.31
 */

import { CONFIG_MAP } from "../../apis/core/kinds.ts";
import type { Clock } from "../../base/clock.ts";
import { fieldOf } from "../../base/json.ts";
import type { Logger } from "../../base/log.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ConnectionError, isNotFound, KubeError } from "../../kube/errors.ts";
import { describe } from "../../kube/manager/manager.ts";
import { OPTIONS } from "./options.ts";
import type { OptionName } from "./parse-options.ts";

export const GLOBAL_SETTINGS = "karpenter-global-settings";

/** For each key of the old ConfigMap: the setting that replaces it today. */
const KEYS: Readonly<Record<string, OptionName>> = {
  batchMaxDuration: "batchMaxDuration",
  batchIdleDuration: "batchIdleDuration",
  "featureGates.driftEnabled": "alphaDrift",
  "aws.clusterName": "clusterName",
  "aws.clusterEndpoint": "clusterEndpoint",
  "aws.clusterCABundle": "clusterCaBundle",
  "aws.defaultInstanceProfile": "defaultInstanceProfile",
  "aws.isolatedVPC": "isolatedVpc",
  "aws.vmMemoryOverheadPercent": "vmMemoryOverheadPercent",
  "aws.interruptionQueueName": "interruptionQueue",
  "aws.reservedENIs": "reservedEnis",
  "aws.tags": "awsTags",
  "aws.enableENILimitedPodDensity": "eniLimitedPodDensity",
  "aws.enablePodENI": "podEni",
};

const RETRY_MS = 2_000;
/**
 * Number of attempts to read the ConfigMap while the API server does not answer or fails. After them its settings are
 * ignored.
 */
const ATTEMPTS = 15;

/** What is needed to read the ConfigMap. */
export interface GlobalSettingsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly namespace: string;
}

/** Settings by flag name, as text. Empty: the ConfigMap does not exist or cannot be read. */
export async function readGlobalSettings(
  deps: GlobalSettingsDeps,
): Promise<Readonly<Record<string, string>>> {
  const { client, clock, log, namespace } = deps;
  for (let attempt = 1; ; attempt++) {
    try {
      const { data = {} } = await client.get(CONFIG_MAP, { name: GLOBAL_SETTINGS, namespace });
      return fromData(data, log.with({ configmap: `${namespace}/${GLOBAL_SETTINGS}` }));
    } catch (error) {
      if (isNotFound(error)) return {};
      const mayPass = error instanceof ConnectionError || (error as KubeError).status >= 500;
      if (!mayPass || attempt === ATTEMPTS) {
        if (!(error instanceof KubeError || error instanceof ConnectionError)) throw error;
        log.warn("cannot read the settings of older generations; flags and defaults count", {
          configmap: `${namespace}/${GLOBAL_SETTINGS}`,
          error: describe(error),
        });
        return {};
      }
      // The transport already logs that the API server cannot be reached.
      await clock.sleep(RETRY_MS);
    }
  }
}

function fromData(
  data: Readonly<Record<string, string>>,
  log: Logger,
): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {};
  const unused: string[] = [];
  for (const [key, value] of Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1))) {
    // The old chart wrote every key, most of them empty.
    if (value === "") continue;
    const name = fieldOf(KEYS, key);
    if (name === undefined) unused.push(key);
    else settings[OPTIONS[name].flag] = value;
  }
  if (unused.length > 0) log.warn("settings of older generations are not acted on", { unused });
  return settings;
}
