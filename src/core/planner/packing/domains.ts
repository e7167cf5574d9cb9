/**
 * Pods that are spread over zones, divided among them before anything is packed: a packing knows of no zones, and
 * what it puts on one node the engine would refuse there, for the others have too few yet. As many go to each as
 * keep the spread even; those that run already stay in their zone as far as that allows, for kube-scheduler
 * lets a pod go to another zone only when that one has fewer.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { assert } from "../../../base/assert.ts";
import type { PodClass, Variant } from "../../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Pass } from "../../provisioning/place.ts";
import type { Rule, TopologyGroup } from "../../provisioning/topology/topology-group.ts";
import { allows } from "../../scheduling/requirement.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { Home } from "./homes.ts";

/** Which value the label has where the pod runs; undefined: it runs nowhere, or that is not known. */
export type DomainNow = (pod: Pod, key: string) => string | undefined;

/**
 * Homes of spread pods as one for each domain that gets some; all others as they are. `classes`: of all pods
 * that wait.
 */
export function dividedByDomain(
  pass: Pass,
  homes: readonly Home[],
  classes: Iterable<PodClass>,
  domainNow: DomainNow = nowhere,
): readonly Home[] {
  const counts = new Counts();
  const strangers = countingStrangers(classes);
  const spread = homes.map((home) => spreadOf(pass, home, strangers));
  if (spread.every((one) => one === undefined)) return homes;
  for (const one of spread) if (one !== undefined) counts.expect(one);
  return homes.flatMap((home, index) => {
    const one = spread[index];
    if (one === undefined) return [home];
    const { items } = home.waiting;
    const cpu = home.waiting.podClass.requests["cpu"] ?? 0;
    const staying = items.map(({ pod }) => counts.stay(one, domainNow(pod, one.key), cpu));
    const byDomain = new Map<string, QueuedPod[]>();
    items.forEach((item, at) => {
      const domain = staying[at] ?? counts.emptiest(one, cpu);
      const own = byDomain.get(domain);
      if (own === undefined) byDomain.set(domain, [item]);
      else own.push(item);
    });
    return one.places.flatMap(({ domain, set }) => {
      const own = byDomain.get(domain);
      if (own === undefined) return [];
      const waiting = { ...home.waiting, items: own };
      return [{ template: home.template, set, domain: { key: one.key, value: domain }, waiting }];
    });
  });
}

function nowhere(): undefined {
  return undefined;
}

/** What divides the pods of a home. */
interface Spread {
  readonly key: string;
  /** Groups whose rules hold for the pods. */
  readonly groups: readonly TopologyGroup[];
  /** Groups that count them. */
  readonly counting: readonly TopologyGroup[];
  /** Where they may go, and what a node there must be. By name. */
  readonly places: readonly { readonly domain: string; readonly set: SetId }[];
  readonly pods: number;
}

/** How many of the pods are divided, if they are packed. `classes`: theirs, each once. */
export function countDivided(queued: readonly QueuedPod[], classes: ReadonlySet<PodClass>): number {
  const strangers = countingStrangers(classes);
  const divided = new Set<PodClass>();
  for (const podClass of classes) {
    const [asWritten] = podClass.variants;
    if (asWritten !== undefined && spreadGroups(asWritten, strangers).length > 0)
      divided.add(podClass);
  }
  if (divided.size === 0) return 0;
  return queued.reduce((sum, { podClass }) => sum + (divided.has(podClass) ? 1 : 0), 0);
}

/** Groups that count pods which do not keep to them: where those end nobody knows, and it is not even with them. */
function countingStrangers(classes: Iterable<PodClass>): ReadonlySet<TopologyGroup> {
  const found = new Set<TopologyGroup>();
  for (const { countedBy, variants } of classes) {
    const rules = variants[0]?.narrowingRules ?? NO_RULES;
    // By number: there are nearly as many classes as pods, and this is not compiled yet.
    for (let at = 0; at < countedBy.length; at++) {
      const group = countedBy[at] as TopologyGroup;
      if (!found.has(group) && !isAmong(rules, group)) found.add(group);
    }
  }
  return found;
}

function isAmong(rules: readonly Rule[], group: TopologyGroup): boolean {
  for (let at = 0; at < rules.length; at++) if (rules[at]?.group === group) return true;
  return false;
}

const NO_RULES: readonly Rule[] = [];

/** By which such pods are spread, over one label; none: topology asks nothing of them, or something else too. */
function spreadGroups(
  { narrowingRules }: Variant,
  strangers: ReadonlySet<TopologyGroup>,
): readonly TopologyGroup[] {
  if (narrowingRules.length === 0) return NO_GROUPS;
  const key = narrowingRules[0]?.group.key;
  const isSpread = ({ group, self }: Rule) =>
    group.type === "spread" && self && group.key === key && !strangers.has(group);
  return narrowingRules.every(isSpread) ? narrowingRules.map(({ group }) => group) : NO_GROUPS;
}

const NO_GROUPS: readonly TopologyGroup[] = [];

/** Undefined: the engine finds out where they go. */
function spreadOf(
  { context: { space } }: Pass,
  home: Home,
  strangers: ReadonlySet<TopologyGroup>,
): Spread | undefined {
  const { template, set, waiting } = home;
  const { podClass, variant, items } = waiting;
  const spreads = spreadGroups(variant, strangers);
  if (spreads.length === 0) return undefined;
  const [first, ...others] = spreads as [TopologyGroup, ...TopologyGroup[]];
  const { key } = first;
  const wanted = variant.strict.get(key);
  const known = [...first.counts.keys()].filter((one) => allows(wanted, one)).sort();
  const places = known.flatMap((domain) => {
    const narrowed = space.narrow(set, key, [domain]);
    if (narrowed === undefined) return [];
    const { table, budget } = template;
    const fits = table.hasFitting(budget.within, narrowed, podClass.requests);
    return fits ? [{ domain, set: narrowed }] : [];
  });
  if (places.length === 0) return undefined;
  const groups = [first, ...others];
  return { key, groups, counting: countingOf(podClass, key), places, pods: items.length };
}

/** The groups that count such pods by that label. */
export function countingOf({ countedBy }: PodClass, key: string): readonly TopologyGroup[] {
  return countedBy.filter((group) => group.key === key && !group.inverse);
}

/** Pods of each group by domain: those that stay where they are, and those divided up to now. */
class Counts {
  readonly #counts = new Map<TopologyGroup, Map<string, number>>();
  /** Pods still to be divided. */
  readonly #expected = new Map<TopologyGroup, number>();
  /** Of all pods together, so that small remainders do not all end in the same domain. */
  readonly #cpu = new Map<string, number>();

  expect({ counting, pods }: Spread): void {
    for (const group of counting)
      this.#expected.set(group, (this.#expected.get(group) ?? 0) + pods);
  }

  /** The pod's own domain, if it has not got its even share yet. */
  stay(spread: Spread, now: string | undefined, cpu: number): string | undefined {
    if (now === undefined || !spread.places.some(({ domain }) => domain === now)) return undefined;
    if (!spread.groups.every((group) => this.#hasRoom(group, spread, now))) return undefined;
    this.#add(spread, now, cpu);
    return now;
  }

  /** Where fewest are. */
  emptiest(spread: Spread, cpu: number): string {
    const { places, groups } = spread;
    let [best, least, lightest] = [undefined as string | undefined, 0, 0];
    for (const { domain } of places) {
      let most = 0;
      for (const group of groups) most = Math.max(most, this.#of(group).get(domain) ?? 0);
      const weight = this.#cpu.get(domain) ?? 0;
      if (best !== undefined && (most > least || (most === least && weight >= lightest))) continue;
      [best, least, lightest] = [domain, most, weight];
    }
    assert(best !== undefined, "spread pods have somewhere to go");
    this.#add(spread, best, cpu);
    return best;
  }

  /** As long as it has no more than all have in the end, or one more where that does not come out even. */
  #hasRoom(group: TopologyGroup, { places }: Spread, now: string): boolean {
    const counts = this.#of(group);
    const here = places.map(({ domain }) => counts.get(domain) ?? 0);
    const total = here.reduce((sum, one) => sum + one, this.#expected.get(group) ?? 0);
    const share = Math.floor(total / places.length);
    const own = counts.get(now) ?? 0;
    if (own !== share) return own < share;
    return here.filter((one) => one > share).length < total % places.length;
  }

  #add({ counting }: Spread, domain: string, cpu: number): void {
    for (const group of counting) {
      const counts = this.#of(group);
      counts.set(domain, (counts.get(domain) ?? 0) + 1);
      this.#expected.set(group, (this.#expected.get(group) ?? 0) - 1);
    }
    this.#cpu.set(domain, (this.#cpu.get(domain) ?? 0) + cpu);
  }

  #of(group: TopologyGroup): Map<string, number> {
    let counts = this.#counts.get(group);
    if (counts === undefined) {
      counts = new Map(group.counts);
      this.#counts.set(group, counts);
    }
    return counts;
  }
}
