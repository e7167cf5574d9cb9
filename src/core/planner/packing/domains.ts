/**
 * Divides pods with topology spread over their domains (mostly zones) before they are packed. A packing ignores
 * domains, so it would put pods together that the spread rule then refuses. Running pods stay in their domain if the
 * spread allows it: kube-scheduler could refuse the successor of a moved pod while the new zone has as many pods.
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { assert } from "../../../base/assert.ts";
import { within } from "../../../base/within.ts";
import type { PodClass, Variant } from "../../provisioning/batch/pod-class.ts";
import type { QueuedPod } from "../../provisioning/batch/queue.ts";
import type { Pass } from "../../provisioning/place.ts";
import type { TopologyGroup, TopologyRule } from "../../provisioning/topology/topology-group.ts";
import { allows } from "../../scheduling/requirement.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { ClassDemand } from "./class-demands.ts";

/**
 * The value of the label `key` on the node where the pod runs. Undefined: the pod does not run, or its node is unknown.
 */
export type DomainNow = (pod: Pod, key: string) => string | undefined;

/**
 * Replaces each demand whose pods can be divided by one demand for each domain that gets pods. If no demand can be
 * divided, the same list is returned. `classes`: the classes (pods that are equal for planning) of the whole batch.
 */
export function dividedByDomain(
  pass: Pass,
  demands: readonly ClassDemand[],
  classes: Iterable<PodClass>,
  domainNow: DomainNow = () => undefined,
): readonly ClassDemand[] {
  const counts = new DomainCounts();
  const withOtherPods = groupsWithOtherPods(classes);
  const spread = demands.map((demand) => spreadOf(pass, demand, withOtherPods));
  if (spread.every((one) => one === undefined)) return demands;
  for (const one of spread) if (one !== undefined) counts.expect(one);
  return demands.flatMap((demand, index) => {
    const one = spread[index];
    if (one === undefined) return [demand];
    const { items } = demand.pods;
    const cpu = demand.pods.podClass.requests["cpu"] ?? 0;
    const kept = items.map(({ pod }) => counts.keep(one, domainNow(pod, one.key), cpu));
    const byDomain = new Map<string, QueuedPod[]>();
    items.forEach((item, at) => {
      const domain = kept[at] ?? counts.sendToEmptiest(one, cpu);
      within(byDomain, domain, () => []).push(item);
    });
    return one.domains.flatMap(({ domain, set }) => {
      const own = byDomain.get(domain);
      if (own === undefined) return [];
      const pods = { ...demand.pods, items: own };
      return [{ template: demand.template, set, domain: { key: one.key, value: domain }, pods }];
    });
  });
}

interface Spread {
  readonly key: string;
  readonly groups: readonly TopologyGroup[];
  /** The topology groups with this key that count these pods, also rules of other pods. */
  readonly counting: readonly TopologyGroup[];
  /** The names of the domains that the pods may go to, each with the requirements of a node there. */
  readonly domains: readonly { readonly domain: string; readonly set: SetId }[];
  readonly pods: number;
}

/** How many of the queued pods would be divided over domains. `classes`: the classes of these pods. */
export function countDivided(queued: readonly QueuedPod[], classes: ReadonlySet<PodClass>): number {
  const withOtherPods = groupsWithOtherPods(classes);
  const divided = new Set<PodClass>();
  for (const podClass of classes) {
    const [asWritten] = podClass.variants;
    if (asWritten !== undefined && spreadGroups(asWritten, withOtherPods).length > 0)
      divided.add(podClass);
  }
  if (divided.size === 0) return 0;
  return queued.reduce((sum, { podClass }) => sum + (divided.has(podClass) ? 1 : 0), 0);
}

/**
 * The topology groups that also match pods of the batch without that spread rule. The domain of such pods is not known,
 * so an even division of the other pods would not make the spread even.
 */
function groupsWithOtherPods(classes: Iterable<PodClass>): ReadonlySet<TopologyGroup> {
  const found = new Set<TopologyGroup>();
  for (const { countedBy, variants } of classes) {
    const rules = variants[0]?.narrowingRules ?? NO_RULES;
    // A loop by index is faster here: there may be as many classes as pods, and V8 has not optimised this code yet.
    for (let at = 0; at < countedBy.length; at++) {
      const group = countedBy[at] as TopologyGroup;
      if (!found.has(group) && !isAmong(rules, group)) found.add(group);
    }
  }
  return found;
}

function isAmong(rules: readonly TopologyRule[], group: TopologyGroup): boolean {
  for (let at = 0; at < rules.length; at++) if (rules[at]?.group === group) return true;
  return false;
}

const NO_RULES: readonly TopologyRule[] = [];

/**
 * The groups of the pods' spread rules, by which the pods are divided. Empty, so that the pods are not divided: they
 * have no spread, they also have an affinity, their spreads use several labels, or a spread counts other pods, too.
 */
function spreadGroups(
  { narrowingRules }: Variant,
  withOtherPods: ReadonlySet<TopologyGroup>,
): readonly TopologyGroup[] {
  if (narrowingRules.length === 0) return NO_GROUPS;
  const key = narrowingRules[0]?.group.key;
  const isSpread = ({ group, self }: TopologyRule) =>
    group.type === "spread" && self && group.key === key && !withOtherPods.has(group);
  return narrowingRules.every(isSpread) ? narrowingRules.map(({ group }) => group) : NO_GROUPS;
}

const NO_GROUPS: readonly TopologyGroup[] = [];

/**
 * The spread of these pods over domains. Undefined: the pods are not divided, and get a domain when they are placed.
 */
function spreadOf(
  { context: { space } }: Pass,
  demand: ClassDemand,
  withOtherPods: ReadonlySet<TopologyGroup>,
): Spread | undefined {
  const { template, set, pods } = demand;
  const { podClass, variant, items } = pods;
  const spreads = spreadGroups(variant, withOtherPods);
  if (spreads.length === 0) return undefined;
  const [first, ...others] = spreads as [TopologyGroup, ...TopologyGroup[]];
  const { key } = first;
  const wanted = variant.strict.get(key);
  const known = [...first.counts.keys()].filter((one) => allows(wanted, one)).sort();
  const domains = known.flatMap((domain) => {
    const narrowed = space.narrow(set, key, [domain]);
    if (narrowed === undefined) return [];
    const { table, limitsLeft } = template;
    const fits = table.hasFitting(limitsLeft.within, narrowed, podClass.requests);
    return fits ? [{ domain, set: narrowed }] : [];
  });
  if (domains.length === 0) return undefined;
  const groups = [first, ...others];
  return { key, groups, counting: countingOf(podClass, key), domains, pods: items.length };
}

/** The groups that count pods of this class by this label. */
export function countingOf({ countedBy }: PodClass, key: string): readonly TopologyGroup[] {
  return countedBy.filter((group) => group.key === key && !group.inverse);
}

/** For each topology group, the pods in each domain: running pods, and those that a division has sent there. */
export class GroupCounts {
  readonly #counts = new Map<TopologyGroup, Map<string, number>>();

  of(group: TopologyGroup, domain: string): number {
    return this.#of(group).get(domain) ?? 0;
  }

  /** Changes the pods of each of these groups in the domain. */
  add(groups: readonly TopologyGroup[], domain: string, pods: number): void {
    for (const group of groups) this.#of(group).set(domain, this.of(group, domain) + pods);
  }

  #of(group: TopologyGroup): Map<string, number> {
    return within(this.#counts, group, () => new Map(group.counts));
  }
}

/** The pods that the division has sent to each domain, and those that it still has to send. */
class DomainCounts {
  readonly #counts = new GroupCounts();
  /** For each group: how many of its pods are not divided yet. */
  readonly #expected = new Map<TopologyGroup, number>();
  /** The cpu sent to each domain so far. It decides among domains with equally many pods. */
  readonly #cpu = new Map<string, number>();

  expect({ counting, pods }: Spread): void {
    for (const group of counting)
      this.#expected.set(group, (this.#expected.get(group) ?? 0) + pods);
  }

  /** Keeps the pod in the domain `now`. Undefined: `now` has its even share already, or is not allowed. */
  keep(spread: Spread, now: string | undefined, cpu: number): string | undefined {
    if (now === undefined || !spread.domains.some(({ domain }) => domain === now)) return undefined;
    if (!spread.groups.every((group) => this.#hasRoom(group, spread, now))) return undefined;
    this.#add(spread, now, cpu);
    return now;
  }

  /**
   * Sends a pod to a domain, and returns that domain. With one group, the domain with the fewest of its pods is chosen.
   * With several, the domain where the largest of their counts is smallest; among equal ones, that with the least cpu.
   */
  sendToEmptiest(spread: Spread, cpu: number): string {
    const { domains, groups } = spread;
    let [best, least, lightest] = [undefined as string | undefined, 0, 0];
    for (const { domain } of domains) {
      let most = 0;
      for (const group of groups) most = Math.max(most, this.#counts.of(group, domain));
      const weight = this.#cpu.get(domain) ?? 0;
      if (best !== undefined && (most > least || (most === least && weight >= lightest))) continue;
      [best, least, lightest] = [domain, most, weight];
    }
    assert(best !== undefined, "pods with topology spread have a domain to go to");
    this.#add(spread, best, cpu);
    return best;
  }

  /**
   * Whether the domain `now` has less than its even share of the group's pods. A remainder gives some domains one more.
   */
  #hasRoom(group: TopologyGroup, { domains }: Spread, now: string): boolean {
    const here = domains.map(({ domain }) => this.#counts.of(group, domain));
    const total = here.reduce((sum, one) => sum + one, this.#expected.get(group) ?? 0);
    const share = Math.floor(total / domains.length);
    const own = this.#counts.of(group, now);
    if (own !== share) return own < share;
    return here.filter((one) => one > share).length < total % domains.length;
  }

  #add({ counting }: Spread, domain: string, cpu: number): void {
    this.#counts.add(counting, domain, 1);
    for (const group of counting) this.#expected.set(group, (this.#expected.get(group) ?? 0) - 1);
    this.#cpu.set(domain, (this.#cpu.get(domain) ?? 0) + cpu);
  }
}
