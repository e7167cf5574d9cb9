/**
 * Late domains. A spread may count over nodes that its pods cannot use. kube-scheduler counts such a domain as soon
 * as it has a node. If the plan opens the first node there after it placed pods of the spread elsewhere, these pods
 * may violate the skew when that node is up first, and stay pending. This file finds such cases.
 */
import type { Steps } from "../../../base/steps.ts";
import { type Place, standsIn, type TopologyGroup } from "./topology-group.ts";

/** Something that a spread learned after it had placed pods. */
export type Latecomer = LateDomain | CountedFirst;

export interface LateDomain {
  readonly group: TopologyGroup;
  readonly domain: string;
}

/**
 * A spread (`group`) that counts the first pod of a host group (`kind`). The zone of that pod must be settled at
 * once.
 */
export interface EarlyFirst {
  readonly kind: TopologyGroup;
  readonly group: TopologyGroup;
}

/** A first pod that was counted in a domain where the spread had already placed pods. */
export interface CountedFirst extends EarlyFirst, LateDomain {
  /** The number of the spread's pods by which the domain is too full. */
  readonly refused: number;
}

/** Host name that stands for a node in a domain that is foreseen. No real host has it. */
export const FORESEEN = "";

/** Where the spread's own pods were placed, and how many. */
export type HomesOf = (group: TopologyGroup) => Steps<ReadonlyMap<Place, number>>;

/**
 * How many placed pods kube-scheduler would refuse because of counted first pods. Late domains are not counted: pods
 * may be bound before the first node of such a domain is up.
 */
export function refusedBy(late: readonly Latecomer[]): number {
  const refused = new Map<string, number>();
  for (const one of late)
    if ("kind" in one) refused.set(`${one.group.index} ${one.domain}`, one.refused);
  return [...refused.values()].reduce((sum, pods) => sum + pods, 0);
}

/**
 * `arrived`: whether this batch opened the first node of a domain. `homes` is asked only if a domain has too few
 * pods: pods that a spread only counts, and that lack the rule themselves, are never refused by it.
 */
export function* latecomersOf(
  groups: readonly TopologyGroup[],
  arrived: (group: TopologyGroup, domain: string) => boolean,
  homes: HomesOf,
): Steps<readonly LateDomain[]> {
  const late: LateDomain[] = [];
  for (const group of groups) {
    const { counts, hosts, maxSkew } = group;
    const standing = [...counts].filter(([domain]) => hosts?.has(domain));
    const behind = (domains: readonly string[]) => {
      const most = domains.reduce((sum, domain) => Math.max(sum, counts.get(domain) ?? 0), 0);
      return standing.filter(([domain, count]) => most - count > maxSkew && arrived(group, domain));
    };
    if (behind(standing.map(([domain]) => domain)).length === 0) continue;
    const places = [...(yield* homes(group)).keys()];
    const settled = places.flatMap((place) => standsIn(group, place) ?? []);
    for (const [domain] of behind(settled)) late.push({ group, domain });
  }
  return late;
}
