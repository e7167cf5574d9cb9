/**
 * Late domains. A spread may count over nodes that its own pods cannot use. kube-scheduler counts such a domain as soon
 * as it has a node. The plan may open the first node there after it placed pods of the spread elsewhere. If that node
 * is ready first, these pods violate the skew and stay pending. This file finds such cases.
 */
import type { Steps } from "../../../base/steps.ts";
import { type Place, standsIn, type TopologyGroup } from "./topology-group.ts";

/** A fact that affects a spread, but was known only after pods of the spread were placed. */
export type Latecomer = LateDomain | CountedFirst;

export interface LateDomain {
  readonly group: TopologyGroup;
  readonly domain: string;
}

/**
 * A spread (`group`) that counts the first pod of a host group (`kind`). The zone of that pod must be decided when it
 * is placed.
 */
export interface EarlyFirst {
  readonly kind: TopologyGroup;
  readonly group: TopologyGroup;
}

/** A first pod that was counted in a domain after the spread had placed pods there. */
export interface CountedFirst extends EarlyFirst, LateDomain {
  /** How many of the spread's pods are too many for the domain. */
  readonly refused: number;
}

/** The host name of an assumed node in a late domain. No real host has it. */
export const FORESEEN = "";

/** Returns the nodes on which the spread's own pods were placed, and how many. */
export type HomesOf = (group: TopologyGroup) => Steps<ReadonlyMap<Place, number>>;

/**
 * How many placed pods kube-scheduler would refuse because of first pods. Late domains do not count here: pods may be
 * bound before the first node of such a domain is ready.
 */
export function refusedBy(late: readonly Latecomer[]): number {
  const refused = new Map<string, number>();
  for (const one of late)
    if ("kind" in one) refused.set(`${one.group.index} ${one.domain}`, one.refused);
  return [...refused.values()].reduce((sum, pods) => sum + pods, 0);
}

/**
 * The late domains of these spreads. `arrived`: whether this batch opened the first node of a domain. `homes` is called
 * only if a domain has too few pods. Only pods that have the rule themselves can make a domain late, because a spread
 * refuses no other pods.
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
