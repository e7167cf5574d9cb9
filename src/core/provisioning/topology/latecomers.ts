/**
 * Domains that a spread comes to look at after it has let pods go elsewhere: it looks at nodes that its pods may
 * not use, or by one of several terms only, once such a node stands there. The scheduler counts the domain from
 * the start if that node is the first to come up, and the pods would wait.
 */
import type { TopologyGroup } from "./topology-group.ts";

export interface Latecomer {
  readonly group: TopologyGroup;
  readonly domain: string;
}

/** Stands in domains that are foreseen. No host has this name. */
export const FORESEEN = "";

/**
 * `arrived`: whether its first node came with the batch. `homes`: domains that pods of the spread itself were put
 * in, asked only where one is behind: those who are merely counted go where they like, and nobody waits for that.
 */
export function latecomersOf(
  groups: readonly TopologyGroup[],
  arrived: (group: TopologyGroup, domain: string) => boolean,
  homes: (group: TopologyGroup) => readonly string[],
): readonly Latecomer[] {
  return groups.flatMap((group) => {
    const { counts, hosts, maxSkew } = group;
    const standing = [...counts].filter(([domain]) => hosts?.has(domain));
    const behind = (domains: readonly string[]) => {
      const most = domains.reduce((sum, domain) => Math.max(sum, counts.get(domain) ?? 0), 0);
      return standing.filter(([domain, count]) => most - count > maxSkew && arrived(group, domain));
    };
    if (behind(standing.map(([domain]) => domain)).length === 0) return [];
    return behind(homes(group)).map(([domain]) => ({ group, domain }));
  });
}
