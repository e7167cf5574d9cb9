/**
 * Keeps ConfigMap `karpenter-facts` up to date (ours): the settings that were given and the prices in use.
 * The chart brings the empty object, so that no right to make others is needed. Nothing depends on it but answers.
 */
import { CONFIG_MAP } from "../../apis/core/kinds.ts";
import { FACTS, factsData, type PriceList } from "../../apis/karpenter/facts.ts";
import { formatDuration } from "../../base/duration.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type Controller, requeueAfter } from "../../kube/manager/controller.ts";
import { OPTIONS } from "../settings/options.ts";
import type { Options } from "../settings/parse-options.ts";

/** How soon a new price is told. */
const CHECK_MS = 30_000;
/** While it cannot be written. */
const RETRY_MS = 10 * 60_000;

/** Prices as they are now; `version` is another with each change. */
export interface TellablePrices {
  readonly version: string;
  list(): PriceList;
}

export interface TellFactsDeps {
  readonly kube: Pick<KubeClient, "patch">;
  readonly log: Logger;
  readonly namespace: string;
  readonly options: Options;
  readonly prices: TellablePrices | undefined;
}

export function tellFacts({ kube, log, namespace, options, prices }: TellFactsDeps): Controller {
  const settings = settingTexts(options);
  let told: string | undefined;
  return {
    name: "facts",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "Singleton", name: "facts" }],
    reconcile: async () => {
      const version = prices?.version ?? "";
      if (told === version) return requeueAfter(CHECK_MS);
      try {
        const body = { data: factsData({ settings, prices: prices?.list() }) };
        await kube.patch(CONFIG_MAP, { name: FACTS, namespace }, { type: "merge", body });
        told = version;
        return requeueAfter(CHECK_MS);
      } catch (error) {
        log.debug("telling settings and prices: answers of karpenter explain will be estimates", {
          configmap: `${namespace}/${FACTS}`,
          error: errorText(error),
        });
        return requeueAfter(RETRY_MS);
      }
    },
  };
}

/** As flags take them. */
function settingTexts(options: Options): Readonly<Record<string, string>> {
  const texts = options.changed.map((name): [string, string] => {
    const { flag, type } = OPTIONS[name];
    const value = options[name];
    return [flag, type === "duration" ? formatDuration(Number(value)) : String(value)];
  });
  return Object.fromEntries(texts.sort(([a], [b]) => (a < b ? -1 : 1)));
}
