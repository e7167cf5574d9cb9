/**
 * The ConfigMap of the facts, by default `karpenter-facts` (karpenter-ts only). The controller writes its settings and
 * its prices there, because no other object has them. `karpenter explain`, `simulate` and `plan` read it.
 */
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { isObject } from "../../base/json.ts";
import type { ConfigMap } from "../core/kinds.ts";

/** Name of the ConfigMap, in the controller's namespace, unless `--facts-name` names another. */
export const FACTS = "karpenter-facts";
/** Label of the chart's ConfigMaps of facts. Their names follow their releases. */
export const FACTS_LABEL = { key: "app.kubernetes.io/component", value: FACTS } as const;

/** Whether a ConfigMap is for facts, by its name or its label. */
export function isForFacts({ metadata }: Pick<ConfigMap, "metadata">): boolean {
  return metadata.name === FACTS || metadata.labels?.[FACTS_LABEL.key] === FACTS_LABEL.value;
}

/** A quota of the cloud account, in vCPUs, and how much of it is used. */
export interface VcpuQuotaUse {
  /** The code of the quota, without spaces. */
  readonly code: string;
  readonly name: string;
  readonly allowed: number;
  readonly used: number;
}

/** Prices per hour, in micro-dollars. */
export interface PriceList {
  readonly region: string;
  /**
   * When the cloud last answered, in milliseconds since 1970. Undefined: never, so these are the prices built into the
   * program.
   */
  readonly readAtMs: number | undefined;
  readonly onDemand: ReadonlyMap<string, number>;
  /** Spot prices by `type/zone`. Empty: they are not known yet, and on-demand prices are used. */
  readonly spot: ReadonlyMap<string, number>;
  /** Number of free instances in each capacity reservation, by id. Undefined: it is not known. */
  readonly reserved?: ReadonlyMap<string, number> | undefined;
  /** The account's quotas. Undefined: the controller does not read them. */
  readonly quotas?: readonly VcpuQuotaUse[] | undefined;
}

/** What the controller writes to the ConfigMap. */
export interface Facts {
  /** Flags that were set and their values, as text. */
  readonly settings: Readonly<Record<string, string>>;
  /** The prices. Absent: the provider has fixed prices. */
  readonly prices?: PriceList | undefined;
}

const ON_DEMAND = "on-demand";

/** The keys of the ConfigMap's data that the controller writes. */
const KEYS = [
  "settings",
  "region",
  "pricesReadAt",
  "pricesMicroUsdPerHour",
  "reservedInstances",
  "vcpuQuotas",
] as const;
type FactsData = Readonly<Partial<Record<(typeof KEYS)[number], string>>>;

/**
 * The data of the ConfigMap. Each instance type has a line such as `m5.large on-demand=96000 us-west-2a=30100`. Each
 * reservation has `cr-1=3`, each quota `L-1 30/32 its name`.
 */
export function factsData({ settings, prices }: Facts): FactsData {
  const data = { settings: JSON.stringify(settings) };
  if (prices === undefined) return data;
  const lines = new Map<string, string[]>();
  const note = (type: string, where: string, price: number): void => {
    const line = lines.get(type) ?? [type];
    lines.set(type, line);
    line.push(`${where}=${price}`);
  };
  for (const [type, price] of sorted(prices.onDemand)) note(type, ON_DEMAND, price);
  for (const [key, price] of sorted(prices.spot)) {
    const at = key.indexOf("/");
    note(key.slice(0, at), key.slice(at + 1), price);
  }
  return {
    ...data,
    region: prices.region,
    pricesReadAt: prices.readAtMs === undefined ? "" : toRfc3339(prices.readAtMs),
    pricesMicroUsdPerHour: [...lines.values()].map((line) => `${line.join(" ")}\n`).join(""),
    ...(prices.reserved === undefined
      ? {}
      : {
          reservedInstances: sorted(prices.reserved)
            .map((one) => `${one.join("=")}\n`)
            .join(""),
        }),
    ...(prices.quotas === undefined
      ? {}
      : {
          vcpuQuotas: prices.quotas
            .map(({ code, used, allowed, name }) => `${code} ${used}/${allowed} ${name}\n`)
            .join(""),
        }),
  };
}

/**
 * The merge patch that changes the stored data to `wanted`. null removes a key. Undefined: nothing differs. If the
 * stored data is unknown, the patch has every key.
 */
export function factsChanges(
  stored: ConfigMap | undefined,
  wanted: FactsData,
): Readonly<Record<string, string | null>> | undefined {
  const changed = KEYS.filter((key) => stored === undefined || stored.data?.[key] !== wanted[key]);
  if (changed.length === 0) return undefined;
  return Object.fromEntries(changed.map((key) => [key, wanted[key] ?? null]));
}

function sorted(prices: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...prices].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Reads the ConfigMap. Undefined: it contains no valid facts. */
export function factsOf({ data }: ConfigMap): Facts | undefined {
  const settings = settingsIn(data?.["settings"]);
  if (settings === undefined) return undefined;
  const region = data?.["region"];
  const text = data?.["pricesMicroUsdPerHour"];
  if (region === undefined || text === undefined) return { settings };
  const onDemand = new Map<string, number>();
  const spot = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [type = "", ...pairs] = line.split(" ");
    for (const pair of pairs) {
      const [where = "", price = ""] = pair.split("=");
      if (!/^\d+$/.test(price)) return { settings };
      if (where === ON_DEMAND) onDemand.set(type, Number(price));
      else spot.set(`${type}/${where}`, Number(price));
    }
  }
  const readAtMs = fromRfc3339(data?.["pricesReadAt"]);
  const reserved = reservedIn(data?.["reservedInstances"]);
  const quotas = quotasIn(data?.["vcpuQuotas"]);
  const prices = { region, readAtMs, onDemand, spot };
  return {
    settings,
    prices: {
      ...prices,
      ...(reserved === undefined ? {} : { reserved }),
      ...(quotas === undefined ? {} : { quotas }),
    },
  };
}

function reservedIn(text: string | undefined): ReadonlyMap<string, number> | undefined {
  if (text === undefined) return undefined;
  const pairs = text.split("\n").flatMap((line) => {
    const match = /^([^=]+)=(\d{1,9})$/.exec(line);
    return match === null ? [] : [[match[1] as string, Number(match[2])] as const];
  });
  return new Map(pairs);
}

function quotasIn(text: string | undefined): readonly VcpuQuotaUse[] | undefined {
  return text?.split("\n").flatMap((line) => {
    const [, code = "", used = "", allowed = "", name = ""] =
      /^(\S+) (\d{1,9})\/(\d{1,9}) (.+)$/.exec(line) ?? [];
    return code === "" ? [] : [{ code, name, allowed: Number(allowed), used: Number(used) }];
  });
}

function settingsIn(text: string | undefined): Facts["settings"] | undefined {
  try {
    const value: unknown = parseBoundedJson(text ?? "");
    const isRead = isObject(value) && Object.values(value).every((one) => typeof one === "string");
    return isRead ? (value as Facts["settings"]) : undefined;
  } catch {
    return undefined;
  }
}
