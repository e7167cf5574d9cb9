/**
 * The first pods of kinds that keep together on a host. The scheduler lets such a pod be the first only before all
 * others of its kind. Where its node's zone is open a spread that counts it does not know of it yet, and lets its own
 * pods go where the first will be one too many: once it is there they are refused, and once they are there it is.
 */
import type { Steps } from "../../../base/steps.ts";
import type { CountedFirst, EarlyFirst, HomesOf } from "./latecomers.ts";
import {
  anyCounted,
  type Place,
  type Rule,
  standsIn,
  type TopologyGroup,
} from "./topology-group.ts";

/** The kind that a pod with these rules would be the first of. */
export function kindLedBy(rules: readonly Rule[]): TopologyGroup | undefined {
  // Asked for every pod that is placed.
  for (let at = 0; at < rules.length; at++) {
    const { self, group } = rules[at] as Rule;
    if (self && group.type === "affinity" && !anyCounted(group)) return group;
  }
  return undefined;
}

export class Firsts {
  /** In the order in which they came. */
  readonly #waiting: (EarlyFirst & { readonly place: Place })[] = [];
  readonly #settled = new Map<TopologyGroup, TopologyGroup[]>();

  forget(): void {
    this.#waiting.length = 0;
    this.#settled.clear();
  }

  /** A first waits on a planned node to be counted. */
  wait({ kind, group }: EarlyFirst, place: Place): void {
    this.#waiting.push({ kind, group, place });
  }

  /** The last of them has not come. */
  takeBack(): void {
    this.#waiting.pop();
  }

  settle({ kind, group }: EarlyFirst): void {
    this.#settled.set(kind, [...(this.#settled.get(kind) ?? []), group]);
  }

  /** Spreads that are to know at once where a pod with these rules goes. */
  settledFor(rules: readonly Rule[]): readonly TopologyGroup[] {
    if (this.#settled.size === 0) return NONE;
    const kind = kindLedBy(rules);
    return (kind && this.#settled.get(kind)) ?? NONE;
  }

  /** Those whose node came to be where pods of the spread went before, and one of them is too many now. */
  *counted(homes: HomesOf): Steps<readonly CountedFirst[]> {
    const early: CountedFirst[] = [];
    const known = new Map<TopologyGroup, ReadonlyMap<string, number>>();
    for (const { kind, group, place } of this.#waiting) {
      const domain = standsIn(group, place);
      const tooMany = domain === undefined ? 0 : beyondSkew(group, domain);
      if (domain === undefined || tooMany <= 0) continue;
      const places = yield* homes(group);
      let pods = known.get(group);
      if (pods === undefined) {
        pods = podsByDomain(group, places);
        known.set(group, pods);
        yield;
      }
      const others = (pods.get(domain) ?? 0) - (places.get(place) ?? 0);
      if (others > 0) early.push({ kind, group, domain, refused: Math.min(tooMany, others) });
    }
    return early;
  }
}

const NONE: readonly TopologyGroup[] = [];

/** Of the spread itself: each node is asked once, however many firsts there are. */
function podsByDomain(
  group: TopologyGroup,
  places: ReadonlyMap<Place, number>,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [place, pods] of places) {
    const domain = standsIn(group, place);
    if (domain !== undefined) sums.set(domain, (sums.get(domain) ?? 0) + pods);
  }
  return sums;
}

/** By how many pods the domain is ahead of the emptiest by more than it may be. */
function beyondSkew({ counts, maxSkew }: TopologyGroup, domain: string): number {
  let least = Number.POSITIVE_INFINITY;
  counts.forEach((count) => {
    least = Math.min(least, count);
  });
  return (counts.get(domain) ?? 0) - least - maxSkew;
}
