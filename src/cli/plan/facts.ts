/**
 * Finds the ConfigMaps in which a running Karpenter publishes its settings and prices. Without one,
 * settings are defaults and spot prices are estimates.
 */
import { CONFIG_MAP, type ConfigMap } from "../../apis/core/kinds.ts";
import { FACTS, FACTS_LABEL, type Facts, factsOf, isForFacts } from "../../apis/karpenter/facts.ts";
import { apiVersionOf, keyOf } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import { settingsOf } from "../../operator/create-operator.ts";
import { OPTIONS } from "../../operator/settings/options.ts";
import { ConfigError, parseOptions, unknownGates } from "../../operator/settings/parse-options.ts";
import type { Found } from "./documents.ts";

/** The usual namespaces of Karpenter, which are tried if listing all namespaces is forbidden. */
const USUAL_NAMESPACES = ["karpenter", "kube-system"];

export interface ReadFacts extends Facts {
  /** Namespace and name of the ConfigMap. */
  readonly where: string;
}

/**
 * All ConfigMaps for facts: those of the usual name, and those that a chart labelled. If listing is forbidden,
 * those of the usual name in the usual namespaces. Rejects if the server does not answer.
 */
export async function factsMaps(client: Pick<KubeClient, "get" | "list">): Promise<Found[]> {
  const named = await configMapsNamed(client, FACTS);
  const labelSelector = `${FACTS_LABEL.key}=${FACTS_LABEL.value}`;
  const labelled = await unlessForbidden(client.list(CONFIG_MAP, { labelSelector }));
  const others = (labelled?.items ?? []).filter(({ metadata }) => metadata.name !== FACTS);
  return [...named, ...foundOf(others)];
}

/** All ConfigMaps of this name. None if reading is forbidden. Rejects if the server does not answer. */
export async function configMapsNamed(
  client: Pick<KubeClient, "get" | "list">,
  name: string,
): Promise<Found[]> {
  return foundOf(await listed(client, name));
}

function foundOf(maps: readonly ConfigMap[]): Found[] {
  return maps.map((object) => ({
    where: `ConfigMap ${keyOf(object)} of the cluster`,
    object: { ...object, apiVersion: apiVersionOf(CONFIG_MAP), kind: CONFIG_MAP.kind },
    live: true,
  }));
}

async function listed(client: Pick<KubeClient, "get" | "list">, name: string) {
  const fieldSelector = `metadata.name=${name}`;
  const found = await unlessForbidden(client.list(CONFIG_MAP, { fieldSelector }));
  if (found !== undefined) return found.items;
  const each = USUAL_NAMESPACES.map((namespace) =>
    client.get(CONFIG_MAP, { name, namespace }).catch((error: unknown) => {
      if (isForbidden(error) || isNotFound(error)) return undefined;
      throw error;
    }),
  );
  return (await Promise.all(each)).filter((one) => one !== undefined);
}

async function unlessForbidden<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/**
 * The facts of the ConfigMap with the newest prices; among equal ones the first by name. An object in a file
 * replaces the same object in the cluster.
 */
export function factsIn(found: readonly Found[]): ReadFacts | undefined {
  let newest: ReadFacts | undefined;
  for (const { object } of found) {
    if (object.kind !== CONFIG_MAP.kind || !isForFacts(object)) continue;
    const facts = factsOf(object);
    if (facts === undefined) continue;
    const one = { ...facts, where: keyOf(object) };
    if (newest === undefined || !isBefore(newest, one)) newest = one;
  }
  return newest;
}

function isBefore(a: ReadFacts, b: ReadFacts): boolean {
  const newer = (a.prices?.readAtMs ?? 0) - (b.prices?.readAtMs ?? 0);
  return newer === 0 ? a.where < b.where : newer > 0;
}

/**
 * The settings of the facts, overridden by `given`, and notes about settings that are not Karpenter's. Unknown settings
 * are left out.
 */
export function settingsWith(
  facts: ReadFacts | undefined,
  given: Readonly<Record<string, string>>,
): { readonly flags: Readonly<Record<string, string>>; readonly notes: readonly string[] } {
  if (facts === undefined) return { flags: given, notes: [] };
  const known = new Set<string>(Object.values(OPTIONS).map(({ flag }) => flag));
  const told = Object.entries(facts.settings).filter(([name]) => known.has(name));
  const flags = { ...Object.fromEntries(told), ...given };
  let gates: readonly string[];
  try {
    const options = parseOptions(flags, {});
    settingsOf(options);
    gates = unknownGates(options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const why = `settings of ConfigMap ${facts.where} are passed over: ${error.message}`;
    return { flags: given, notes: [why] };
  }
  const over = Object.keys(given).sort();
  if (over.length === 0) return { flags, notes: gates };
  const but = `settings: as Karpenter has them (ConfigMap ${facts.where}), but for --setting ${over.join(", ")}`;
  return { flags, notes: [but, ...gates] };
}

/**
 * The note that says where the prices of a plan come from. Until Karpenter knows a spot price, it takes the on-demand
 * price for spot offerings (providers/aws/pricing), and so does the plan.
 */
export function priceNote({ prices, where }: ReadFacts): string {
  const hasSpot = (prices?.spot.size ?? 0) > 0;
  const spot = hasSpot ? "" : "; it knows no spot price yet, so spot costs as much as on-demand";
  return `prices: those that Karpenter uses in ${prices?.region}, ${ageText(prices?.readAtMs, hasSpot)}${spot} (ConfigMap ${where})`;
}

function ageText(readAtMs: number | undefined, hasSpot: boolean): string {
  if (readAtMs !== undefined) return `of ${toRfc3339(readAtMs)}`;
  return hasSpot
    ? "on-demand ones built in, as it could not read them from AWS"
    : "built in, as it has read none from AWS yet";
}
