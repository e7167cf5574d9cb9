/**
 * First pods of host groups. A host group is a set of pods with required affinity to each other on one host. Its first
 * pod may choose a host, and all others must follow. While the zone of that host is open, a spread that counts the
 * first pod does not know its zone. The spread may then place its own pods so that the first pod makes the zone too
 * full, and kube-scheduler refuses some of these pods. This class finds such spreads.
 */
import type { Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { CountedFirst, EarlyFirst, HomesOf } from "./latecomers.ts";
import {
  anyCounted,
  type Place,
  type Rule,
  standsIn,
  type TopologyGroup,
} from "./topology-group.ts";

/** The affinity of which a pod with these rules would be the first pod. Undefined: there is none. */
export function kindLedBy(rules: readonly Rule[]): TopologyGroup | undefined {
  // A loop by index, because this runs for every pod that is placed.
  for (let at = 0; at < rules.length; at++) {
    const { self, group } = rules[at] as Rule;
    if (self && group.type === "affinity" && !anyCounted(group)) return group;
  }
  return undefined;
}

export class Firsts {
  /** First pods that are not counted yet, in the order of placement. */
  readonly #waiting: (EarlyFirst & { readonly place: Place })[] = [];
  readonly #settled = new Map<TopologyGroup, TopologyGroup[]>();

  forget(): void {
    this.#waiting.length = 0;
    this.#settled.clear();
  }

  /** Records that a first pod is on a planned node and not counted yet. */
  wait({ kind, group }: EarlyFirst, place: Place): void {
    this.#waiting.push({ kind, group, place });
  }

  /** Removes the last record. */
  takeBack(): void {
    this.#waiting.pop();
  }

  settle({ kind, group }: EarlyFirst): void {
    within(this.#settled, kind, () => []).push(group);
  }

  /** The spreads for which the zone of a pod with these rules must be decided when the pod is placed. */
  settledFor(rules: readonly Rule[]): readonly TopologyGroup[] {
    if (this.#settled.size === 0) return NONE;
    const kind = kindLedBy(rules);
    return (kind && this.#settled.get(kind)) ?? NONE;
  }

  /** First pods whose node got a zone in which the spread had placed pods before. The skew is then too large there. */
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

/** The spread's own pods by domain. The caller computes this once for all first pods. */
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

/** The number of pods by which the domain exceeds the allowed skew. */
function beyondSkew({ counts, maxSkew }: TopologyGroup, domain: string): number {
  let least = Number.POSITIVE_INFINITY;
  counts.forEach((count) => {
    least = Math.min(least, count);
  });
  return (counts.get(domain) ?? 0) - least - maxSkew;
}
