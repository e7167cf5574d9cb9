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

/** `arrived`: whether its first node came with the batch. */
export function latecomersOf(
  groups: readonly TopologyGroup[],
  arrived: (group: TopologyGroup, domain: string) => boolean,
): readonly Latecomer[] {
  return groups.flatMap((group) => {
    const standing = [...group.counts].filter(([domain]) => group.hosts?.has(domain));
    const most = standing.reduce((sum, [, count]) => Math.max(sum, count), 0);
    return standing
      .filter(([domain, count]) => most - count > group.maxSkew && arrived(group, domain))
      .map(([domain]) => ({ group, domain }));
  });
}
