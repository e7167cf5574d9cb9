/**
 * Domains that a spread comes to look at after it has let pods go elsewhere: it looks at nodes that its pods may
 * not use, or by one of several terms only, once such a node stands there. The scheduler counts the domain from
 * the start if that node is the first to come up, and the pods would wait.
 */
import type { Steps } from "../../../base/steps.ts";
import { type Place, standsIn, type TopologyGroup } from "./topology-group.ts";

/** What a spread learns too late. */
export type Latecomer = LateDomain | CountedFirst;

export interface LateDomain {
  readonly group: TopologyGroup;
  readonly domain: string;
}

/** A spread that counts the first of the kind, an affinity between hosts: it is to know at once where that is. */
export interface EarlyFirst {
  readonly kind: TopologyGroup;
  readonly group: TopologyGroup;
}

/** One that was counted where pods of the spread had gone before. */
export interface CountedFirst extends EarlyFirst, LateDomain {
  /** So many of these are too many in its domain. */
  readonly refused: number;
}

/** Stands in domains that are foreseen. No host has this name. */
export const FORESEEN = "";

/** Where pods of a spread itself were put, and how many. */
export type HomesOf = (group: TopologyGroup) => Steps<ReadonlyMap<Place, number>>;

/**
 * Pods that have a place in the plan, and are refused there if it comes to be. Where only a domain is late that is
 * not certain: they may be bound before its first node is up.
 */
export function refusedBy(late: readonly Latecomer[]): number {
  const refused = new Map<string, number>();
  for (const one of late)
    if ("kind" in one) refused.set(`${one.group.index} ${one.domain}`, one.refused);
  return [...refused.values()].reduce((sum, pods) => sum + pods, 0);
}

/**
 * `arrived`: whether its first node came with the batch. `homes` are asked only where a domain is behind: those who
 * are merely counted go where they like, and nobody waits for that.
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
