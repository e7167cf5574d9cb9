/**
 * Writes the given settings and the prices in use to the ConfigMap `karpenter-facts`, or to that of `--facts-name`
 * (karpenter-ts only). Answers of the CLI read it; nothing else depends on it. The ConfigMap is read before each write,
 * so that changes by others are corrected. Without the right to read it, each change is written once. The chart creates
 * the empty object, so no right to create is needed.
 */
import { CONFIG_MAP, type ConfigMap } from "../../apis/core/kinds.ts";
import { factsChanges, factsData, type PriceList } from "../../apis/karpenter/facts.ts";
import { formatDuration } from "../../base/duration.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import type { KubeClient, ObjectRef } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { type Controller, requeueAfter } from "../../kube/manager/controller.ts";
import { OPTIONS } from "../settings/options.ts";
import type { Options } from "../settings/parse-options.ts";

/** Milliseconds between two checks. A new price, or a ConfigMap that someone changed, is written at the next check. */
const CHECK_MS = 30_000;
/** Milliseconds until a failed write is tried again. */
const RETRY_MS = 10 * 60_000;

/** The current prices. `version` differs after each change. */
export interface TellablePrices {
  readonly version: string;
  list(): PriceList;
}

/** What the controller needs to write the facts. */
export interface TellFactsDeps {
  readonly kube: Pick<KubeClient, "get" | "patch">;
  readonly log: Logger;
  readonly namespace: string;
  readonly options: Options;
  readonly prices: TellablePrices | undefined;
}

/** Writes settings and prices to the ConfigMap of `--facts-name`, for `plan`, `explain` and `simulate`. */
export function tellFacts({ kube, log, namespace, options, prices }: TellFactsDeps): Controller {
  const settings = settingTexts(options);
  const ref = { name: options.factsName, namespace };
  const dataNow = (): ReturnType<typeof factsData> =>
    factsData({ settings, prices: prices?.list() });
  let wanted = { version: prices?.version, data: dataNow() };
  /** The facts that were last written without reading the ConfigMap first. */
  let toldBlindly: typeof wanted | undefined;
  return {
    name: "facts",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "Singleton", name: "facts" }],
    reconcile: async () => {
      const version = prices?.version;
      if (wanted.version !== version) wanted = { version, data: dataNow() };
      try {
        const stored = await readIfAllowed(kube, ref);
        if (stored === undefined && toldBlindly === wanted) return requeueAfter(CHECK_MS);
        const data = factsChanges(stored, wanted.data);
        if (data !== undefined)
          await kube.patch(CONFIG_MAP, ref, { type: "merge", body: { data } });
        toldBlindly = stored === undefined ? wanted : undefined;
        return requeueAfter(CHECK_MS);
      } catch (error) {
        log.debug("cannot publish settings and prices: karpenter explain uses estimates", {
          configmap: `${namespace}/${ref.name}`,
          error: errorText(error),
        });
        return requeueAfter(RETRY_MS);
      }
    },
  };
}

/** The stored ConfigMap. Undefined: the controller may not read it, because older charts grant only the verb patch. */
async function readIfAllowed(
  kube: Pick<KubeClient, "get">,
  ref: ObjectRef,
): Promise<ConfigMap | undefined> {
  try {
    return await kube.get(CONFIG_MAP, ref);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** The given settings as texts, in the form of flag values. */
function settingTexts(options: Options): Readonly<Record<string, string>> {
  const texts = options.changed.map((name): [string, string] => {
    const { flag, type } = OPTIONS[name];
    const value = options[name];
    return [flag, type === "duration" ? formatDuration(Number(value)) : String(value)];
  });
  return Object.fromEntries(texts.sort(([a], [b]) => (a < b ? -1 : 1)));
}
