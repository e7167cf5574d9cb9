/**
 * Finds pods of a spread that kube-scheduler may refuse, because something was counted only after they were placed:
 * - Late domains. A spread may count over nodes that its own pods cannot use. kube-scheduler counts such a domain
 *   (zone) as soon as it has a node, which the plan may open after it placed pods of the spread elsewhere.
 * - First pods of host groups. Pods with required affinity to each other on one host must follow their first pod. While
 *   the zone of its host is open, a spread that counts the first pod does not know its zone, and may make it too full.
 */
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import {
  anyCounted,
  domainOf,
  type NodePlace,
  type TopologyGroup,
  type TopologyRule,
} from "./topology-group.ts";

/** A domain or a pod that a spread counts, but counted only after pods of the spread were placed. */
export type LateCount = LateDomain | LateFirstPod;

export interface LateDomain {
  readonly group: TopologyGroup;
  readonly domain: string;
}

/** A spread (`group`) that counts the first pod of this host affinity. */
export interface SpreadOfFirstPod {
  readonly affinity: TopologyGroup;
  readonly group: TopologyGroup;
}

/** A first pod that was counted in a domain after the spread had placed pods there. */
export interface LateFirstPod extends SpreadOfFirstPod, LateDomain {
  /** How many of the spread's pods are too many for the domain. */
  readonly refused: number;
}

/** The name of a host that the plan assumes in a late domain from its start. No real host has this name. */
export const ASSUMED_HOST = "";

/** Returns the nodes on which the spread's own pods were placed, each with their number. */
export type PlacesOf = (group: TopologyGroup) => Steps<ReadonlyMap<NodePlace, number>>;

/**
 * How many placed pods kube-scheduler would refuse because of first pods that were counted late. Late domains do not
 * count: pods may be bound before the first node of such a domain is ready.
 */
export function refusedBy(late: readonly LateCount[]): number {
  const refused = new Map<string, number>();
  for (const one of late)
    if ("affinity" in one) refused.set(`${one.group.index} ${one.domain}`, one.refused);
  return [...refused.values()].reduce((sum, pods) => sum + pods, 0);
}

/**
 * The late domains of these spreads. `isNew`: whether this plan opened the first node of a domain. A spread refuses
 * only pods that have the rule, so only their domains make another domain late.
 */
export function* lateDomainsOf(
  groups: readonly TopologyGroup[],
  isNew: (group: TopologyGroup, domain: string) => boolean,
  placesOf: PlacesOf,
): Steps<readonly LateDomain[]> {
  const late: LateDomain[] = [];
  for (const group of groups) {
    const { counts, hosts, maxSkew } = group;
    const withNodes = [...counts].filter(([domain]) => hosts?.has(domain));
    const behind = (domains: readonly string[]) => {
      const most = domains.reduce((sum, domain) => Math.max(sum, counts.get(domain) ?? 0), 0);
      return withNodes.filter(([domain, count]) => most - count > maxSkew && isNew(group, domain));
    };
    if (behind(withNodes.map(([domain]) => domain)).length === 0) continue;
    const places = [...(yield* placesOf(group)).keys()];
    const own = places.flatMap((place) => domainOf(group, place) ?? []);
    for (const [domain] of behind(own)) late.push({ group, domain });
  }
  return late;
}

/** The affinity of which a pod with these rules would be the first pod. Undefined: there is none. */
export function affinityStartedBy(rules: readonly TopologyRule[]): TopologyGroup | undefined {
  // A loop by index, because this runs for every pod that is placed.
  for (let at = 0; at < rules.length; at++) {
    const { self, group } = rules[at] as TopologyRule;
    if (self && group.type === "affinity" && !anyCounted(group)) return group;
  }
  return undefined;
}

/** The first pods of host groups that one plan has placed. */
export class FirstPods {
  /** First pods that are not counted yet, in the order of placement. */
  readonly #uncounted: (SpreadOfFirstPod & { readonly place: NodePlace })[] = [];
  /** For each host affinity: the spreads for which the zone of its first pod is decided when the pod is placed. */
  readonly #spreads = new Map<TopologyGroup, TopologyGroup[]>();

  forget(): void {
    this.#uncounted.length = 0;
    this.#spreads.clear();
  }

  /** Records that a first pod is on a planned node and not counted yet. */
  add({ affinity, group }: SpreadOfFirstPod, place: NodePlace): void {
    this.#uncounted.push({ affinity, group, place });
  }

  removeLast(): void {
    this.#uncounted.pop();
  }

  /** From now on, the zone of this affinity's first pod is decided when the pod is placed, because of this spread. */
  decideZone({ affinity, group }: SpreadOfFirstPod): void {
    within(this.#spreads, affinity, () => []).push(group);
  }

  /** The spreads for which the zone of a pod with these rules must be decided when the pod is placed. */
  spreadsOf(rules: readonly TopologyRule[]): readonly TopologyGroup[] {
    if (this.#spreads.size === 0) return NONE;
    const affinity = affinityStartedBy(rules);
    return (affinity && this.#spreads.get(affinity)) ?? NONE;
  }

  /** First pods whose node got a zone that pods of the spread had filled, so that the skew is too large there. */
  *countedLate(placesOf: PlacesOf): Steps<readonly LateFirstPod[]> {
    const late: LateFirstPod[] = [];
    const known = new Map<TopologyGroup, ReadonlyMap<string, number>>();
    for (const { affinity, group, place } of this.#uncounted) {
      const domain = domainOf(group, place);
      const tooMany = domain === undefined ? 0 : beyondSkew(group, domain);
      if (domain === undefined || tooMany <= 0) continue;
      const places = yield* placesOf(group);
      let pods = known.get(group);
      if (pods === undefined) {
        pods = podsByDomain(group, places);
        known.set(group, pods);
        yield;
      }
      const others = (pods.get(domain) ?? 0) - (places.get(place) ?? 0);
      if (others > 0) late.push({ affinity, group, domain, refused: Math.min(tooMany, others) });
    }
    return late;
  }
}

const NONE: readonly TopologyGroup[] = [];

/** The spread's own pods by domain. The caller computes this once for all first pods. */
function podsByDomain(
  group: TopologyGroup,
  places: ReadonlyMap<NodePlace, number>,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [place, pods] of places) {
    const domain = domainOf(group, place);
    if (domain !== undefined) sums.set(domain, (sums.get(domain) ?? 0) + pods);
  }
  return sums;
}

/** The number of pods by which the domain exceeds the allowed skew. */
function beyondSkew({ counts, maxSkew }: TopologyGroup, domain: string): number {
  let least = Number.POSITIVE_INFINITY;
  counts.forEach((count) => {
    least = Math.min(least, count);
  });
  return (counts.get(domain) ?? 0) - least - maxSkew;
}
