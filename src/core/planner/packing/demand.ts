/**
 * From a pass of the engine to a packing problem: pods that ask for as much, of as much, are a row;
 * a type at the price of its cheapest offering is a bin, for each set of requirements that some row
 * has. A burstable type is as large as what it gives all the time: credits are nothing to plan with. Pods that are spread over zones are divided among them first (domains.ts); what else a packing
 * cannot say (neighbours to be near) is left out here and looked at by the engine when the packing is
 * carried out.
 */
import { firstUntolerated } from "../../../apis/core/tolerations.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import type { Resources } from "../../../apis/resources.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { PodClass, Variant } from "../../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Pass } from "../../provisioning/place.ts";
import type { Template } from "../../provisioning/pools/pool-template.ts";
import { rankOf } from "../../provisioning/pools/rank.ts";
import type { Rule } from "../../provisioning/topology/topology-group.ts";
import { type Bits, bitIndices, hasBit } from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { perHostOf } from "../sources/least-hosts.ts";
import { type DomainNow, dividedByDomain } from "./domains.ts";
import type { Domain, Home, Waiting } from "./homes.ts";
import { type Bin, holds, type Packing, type Row } from "./packing.ts";
import { type ResourcePrices, resourcePrices } from "./resource-prices.ts";
import { UnitPrices } from "./unit-prices.ts";

export interface PodRow extends Row {
  readonly template: Template;
  readonly set: SetId;
  /** Of what it is spread over: where these pods go. */
  readonly domain?: Domain | undefined;
  /** The hardest to please first. */
  readonly classes: readonly Waiting[];
}

/** A machine of a type under a set of requirements. */
export interface TypeBin extends Bin {
  readonly template: Template;
  readonly set: SetId;
  /** Where it stands, if some of its pods ask. */
  readonly domain?: Domain | undefined;
  /** Bit of the type in the pool's table. */
  readonly type: number;
}

export interface Demand extends Packing {
  readonly rows: readonly PodRow[];
  readonly bins: readonly TypeBin[];
  /** Of all rows as they are. */
  readonly worth: ResourcePrices;
  /** Pods that no packing is made for. */
  readonly others: readonly QueuedPod[];
}

export interface DemandOptions {
  readonly nodeMicroUsdPerHour: number;
  /** Most bins for each set of requirements. */
  readonly maxBins: number;
  /** Absent: they run nowhere. */
  readonly domainNow?: DomainNow | undefined;
}

/** Sets of requirements beyond this many are left to the engine, those of the fewest pods first. */
const MAX_SETS = 48;
/** Put with those of their class before others get a turn. */
const PODS_PER_STEP = 8_192;
/** No space holds as many sets. */
const MOST_INTERNED = 2 ** 32;
const MAX_SLOTS = 2;
/** A rule about hosts shapes the packing when it concerns this share of the pods. */
const SLOT_SHARE = 0.02;

/** `queued` in the order in which the engine would place them. */
export function* demandOf(
  pass: Pass,
  queued: readonly QueuedPod[],
  options: DemandOptions,
): Steps<Demand> {
  const others: QueuedPod[] = [];
  const homes: Home[] = [];
  const byClass = new Map<PodClass, Home | undefined>();
  const pools: Pools = { found: new Map(), prices: unitPrices(pass) };
  yield* eachInSteps(queued, PODS_PER_STEP, (item) => {
    const { podClass } = item;
    let home = byClass.get(podClass);
    if (home === undefined && !byClass.has(podClass)) {
      home = homeOf(pass, item, pools);
      byClass.set(podClass, home);
      if (home === undefined) others.push(item);
      else homes.push(home);
    } else if (home === undefined) others.push(item);
    else home.waiting.items.push(item);
  });
  yield;
  const kept = largestSets(homes, others);
  const divided = dividedByDomain(pass, kept, byClass.keys(), options.domainNow);
  yield;
  const slots = slotsOf(homes, queued.length);
  const names = resourceNames(homes);
  const dimensions = names.length + slots.length;
  const rows = rowsOf(divided, names, slots, divided !== kept);
  const bins = binsOf(pass, rows, names, slots, options);
  const counts = rows.map(({ count }) => count);
  const worth = resourcePrices({ rows, bins, dimensions }, counts);
  return { rows, bins, dimensions, slots: slots.length, worth, others };
}

type Pool = Pick<Home, "template" | "set">;

/** Where pods of a variant would go; classes that share one ask for the same. */
interface Pools {
  readonly found: Map<Variant, Pool | undefined>;
  /** Undefined: ranks tell which of them comes first. */
  readonly prices: UnitPrices | undefined;
}

function unitPrices(pass: Pass): UnitPrices | undefined {
  const ranks = new Set(pass.templates.map(({ pool }) => rankOf(pool)));
  return ranks.size === pass.templates.length ? undefined : new UnitPrices(pass.context.space);
}

/** With its first pod in it. */
function homeOf(pass: Pass, item: QueuedPod, pools: Pools): Home | undefined {
  const { podClass } = item;
  for (let step = 0; ; step++) {
    const variant = pass.classes.variant(podClass, step);
    if (variant === undefined) return undefined;
    if (variant.hostname !== undefined || joinsHosts(variant)) return undefined;
    let pool = pools.found.get(variant);
    if (pool === undefined && !pools.found.has(variant)) {
      pool = poolFor(pass, podClass, variant, pools.prices);
      pools.found.set(variant, pool);
    }
    if (pool === undefined) continue;
    const hardness = hardnessOf(podClass, variant);
    const { template, set } = pool;
    return { template, set, waiting: { podClass, step, variant, items: [item], hardness } };
  }
}

/** The highest in rank that can; of equals the one that asks least, for a name is worth no price. */
function poolFor(
  { templates, context: { space } }: Pass,
  { requests }: PodClass,
  { tolerations, set: wanted }: Variant,
  prices: UnitPrices | undefined,
): Pool | undefined {
  let best: Pool | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const template of templates) {
    if (best !== undefined && rankOf(template.pool) < rankOf(best.template.pool)) break;
    const { taints, budget, table } = template;
    if (budget.exhausted) continue;
    if (taints.length > 0 && firstUntolerated(tolerations, taints) !== undefined) continue;
    const set = space.join(template.set, wanted);
    if (set === undefined || !table.hasFitting(budget.within, set, requests)) continue;
    if (prices === undefined) return { template, set };
    const price = prices.of(template, set, requests);
    if (price >= least) continue;
    best = { template, set };
    least = price;
  }
  return best;
}

/** Pods that must share a host are the engine's: it opens the host and keeps them together. */
function joinsHosts({ hostRules }: Variant): boolean {
  return hostRules.some(({ group }) => group.type === "affinity");
}

/** A rule that lets so many of its pods on one host. */
interface Slot {
  readonly group: object;
  readonly perHost: number;
}

function slotsOf(homes: readonly Home[], pods: number): Slot[] {
  const found = new Map<object, { perHost: number; hosts: number }>();
  for (const { waiting } of homes) {
    const { hostRules } = waiting.variant;
    for (let at = 0; at < hostRules.length; at++) {
      const { group, self } = hostRules[at] as Rule;
      if (!self || group.inverse || group.key !== HOSTNAME_LABEL_KEY) continue;
      const perHost = perHostOf(group);
      const slot = found.get(group) ?? { perHost, hosts: 0 };
      slot.hosts += waiting.items.length / perHost;
      found.set(group, slot);
    }
  }
  return [...found]
    .filter(([, { hosts }]) => hosts >= Math.max(2, pods * SLOT_SHARE))
    .sort(([, a], [, b]) => b.hosts - a.hosts)
    .slice(0, MAX_SLOTS)
    .map(([group, { perHost }]) => ({ group, perHost }));
}

/** cpu and memory first. */
function resourceNames(homes: readonly Home[]): string[] {
  const names = new Set(["cpu", "memory"]);
  for (const { waiting } of homes) {
    for (const name in waiting.podClass.requests) {
      if ((waiting.podClass.requests[name] as number) > 0) names.add(name);
    }
  }
  const [cpu, memory, ...more] = names;
  return [cpu as string, memory as string, ...more.sort()];
}

function largestSets(homes: readonly Home[], others: QueuedPod[]): readonly Home[] {
  const pods = new Map<number, number>();
  const keyOf = ({ template, set }: Home) => template.index * MOST_INTERNED + set;
  for (const home of homes) {
    const key = keyOf(home);
    pods.set(key, (pods.get(key) ?? 0) + home.waiting.items.length);
  }
  if (pods.size <= MAX_SETS) return homes;
  const kept = new Set(
    [...pods]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_SETS)
      .map(([key]) => key),
  );
  for (const home of homes) if (!kept.has(keyOf(home))) others.push(...home.waiting.items);
  return homes.filter((home) => kept.has(keyOf(home)));
}

function rowsOf(
  homes: readonly Home[],
  names: readonly string[],
  slots: readonly Slot[],
  isDivided: boolean,
): PodRow[] {
  const groups = new Map<string, RowDraft>();
  const texts = new Map<Resources, string>();
  const byVariant = new Map<Variant, RowDraft>();
  for (const home of homes) {
    const { podClass, variant } = home.waiting;
    // Classes that share a variant ask for the same.
    const alike = byVariant.get(variant);
    if (alike?.home.template === home.template && alike.home.set === home.set) {
      alike.classes.push(home.waiting);
      continue;
    }
    const { requests } = podClass;
    // Many classes are of one template, which is written out once.
    let text = texts.get(requests);
    if (text === undefined) {
      text = names.map((name) => requests[name] ?? 0).join();
      texts.set(requests, text);
    }
    const held = slots.map(({ group }) =>
      variant.hostRules.some((rule) => rule.self && rule.group === group) ? 1 : 0,
    );
    // Of a zone's few nodes each counts; elsewhere more rows would only be more work.
    const beside = isDivided ? hostRulesBeside(slots, variant) : [];
    const alone = beside.map(({ group }) => group.index);
    const key = `${home.template.index} ${home.set} ${text} ${held.join()} ${alone.join()}`;
    let row = groups.get(key);
    if (row === undefined) {
      const amounts = Float64Array.from([...names.map((name) => requests[name] ?? 0), ...held]);
      const perBin = least(beside.map(({ group }) => perHostOf(group)));
      row = { home, amounts, classes: [], perBin };
      groups.set(key, row);
    }
    row.classes.push(home.waiting);
    byVariant.set(variant, row);
  }
  return [...groups.values()].map(({ home, amounts, classes, perBin }) => ({
    template: home.template,
    set: home.set,
    domain: home.domain,
    amounts,
    perBin,
    count: classes.reduce((sum, { items }) => sum + items.length, 0),
    classes: classes.sort((a, b) => b.hardness - a.hardness),
  }));
}

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}

interface RowDraft {
  readonly home: Home;
  readonly amounts: Float64Array;
  readonly classes: Waiting[];
  readonly perBin: number | undefined;
}

/** By which only so many may be on one host, and which no slot stands for. */
function hostRulesBeside(slots: readonly Slot[], { hostRules }: Variant): readonly Rule[] {
  return hostRules.filter(
    ({ group, self }) => self && !group.inverse && !slots.some((slot) => slot.group === group),
  );
}

function hardnessOf({ ports }: PodClass, { narrowingRules, hostRules }: Variant): number {
  let hardness = narrowingRules.length * 10 + hostRules.length + ports.length;
  for (const { group } of narrowingRules) if (group.type === "affinity") hardness += 100;
  return hardness;
}

function binsOf(
  pass: Pass,
  rows: readonly PodRow[],
  names: readonly string[],
  slots: readonly Slot[],
  options: DemandOptions,
): TypeBin[] {
  const { space } = pass.context;
  const sets = new Map<string, Pick<PodRow, "template" | "set" | "domain">>();
  for (const row of rows) {
    const key = `${row.template.index} ${row.set}`;
    if (row.domain !== undefined || !sets.has(key)) sets.set(key, row);
  }
  return [...sets.values()].flatMap(({ template, set, domain }) => {
    const welcome: number[] = [];
    rows.forEach((row, index) => {
      if (row.template === template && space.join(set, row.set) === set) welcome.push(index);
    });
    const { table, budget } = template;
    const usable: Bits = table.compatible(set);
    const prices = table.offerings.cheapest(space.get(set));
    const bins: TypeBin[] = [];
    for (const type of bitIndices(usable)) {
      const offering = prices[type];
      if (offering === undefined || !hasBit(budget.within, type)) continue;
      const free = table.allocatable(type);
      const amounts = new Float64Array(names.length + slots.length);
      const { capacity, baseline } = table.types[type] as InstanceType;
      for (let d = 0; d < names.length; d++) {
        const name = names[d] as string;
        const onCredits =
          baseline?.[name] === undefined ? 0 : (capacity[name] ?? 0) - baseline[name];
        amounts[d] = (free[name] ?? 0) - onCredits;
      }
      for (let d = 0; d < slots.length; d++) amounts[names.length + d] = (slots[d] as Slot).perHost;
      if (amounts.some((amount) => amount < 0)) continue;
      const price = offering.priceMicroUsd + options.nodeMicroUsdPerHour;
      bins.push({ template, set, domain, type, amounts, price, rows: welcome });
    }
    return worthwhile(bins);
  });
}

/** Without bins for which another has as much and costs no more. */
function worthwhile(bins: TypeBin[]): TypeBin[] {
  const kept: TypeBin[] = [];
  const most = new Float64Array(bins[0]?.amounts.length ?? 0);
  bins.sort((a, b) => a.price - b.price || total(b) - total(a) || a.type - b.type);
  for (const bin of bins) {
    // With more of something than any cheaper one there is nothing to compare.
    if (holds(most, bin.amounts) && kept.some(({ amounts }) => holds(amounts, bin.amounts)))
      continue;
    kept.push(bin);
    for (let d = 0; d < most.length; d++)
      most[d] = Math.max(most[d] as number, bin.amounts[d] as number);
  }
  return kept;
}

function total({ amounts }: TypeBin): number {
  return amounts[0] as number;
}
